// SPDX-License-Identifier: Apache-2.0
// Reads bytes as a model. What opens must be written, read back and be the same graph; its local
// functions are inlined, and what comes of that must be writable.
#include "octet/onnx.h"

#include <cstdlib>
#include <vector>

#include "borrow.h"
#include "onnx/schema.h"
#include "onnx/wire.h"
#include "replay/seeds.h"

#include "octet/passes.h"

namespace {

using octet::Graph;
using octet::Tensor;
using octet::ValueId;

/// A graph with every kind of attribute.
Graph attributes() {
  Graph g;
  g.opsets = {{"", 17}, {"com.example", 1}};
  g.info.metadata = {{"key", "value"}};
  const ValueId x =
      g.add_input("x", octet::tensor_type(octet::DType::kFloat32, octet::Shape{2, 3}));
  octet::Attributes all;
  all["ints"].value = std::vector<int64_t>{1, -2};
  all["floats"].value = std::vector<float>{1.5F, -0.0F};
  all["strings"].value = std::vector<std::string>{"a", ""};
  all["text"].value = std::string("text");
  all["number"].value = int64_t{7};
  all["real"].value = 0.25F;
  all["tensor"].value = Tensor::of<int64_t>({2}, {1, 2});
  all["tensors"].value = std::vector<Tensor>{Tensor::scalar(1.0F), Tensor::scalar<int8_t>(1)};
  const ValueId w = g.add_constant("w", Tensor::of<int8_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  g.mark_output(g.emit("Mystery", {x, ValueId{}, w}, all, "node", "com.example", 2));
  return g;
}

/// An If whose branches use a value from outside.
Graph subgraphs() {
  Graph g;
  g.opsets = {{"", 17}};
  const ValueId c = g.add_input("c", octet::tensor_type(octet::DType::kBool, octet::Shape{}));
  octet::TypeInfo type;
  type.type = octet::DType::kFloat32;
  type.shape.emplace();
  type.shape->push_back(octet::Dim::symbol("N"));
  const ValueId x = g.add_input("x", type);
  Graph body;
  body.opsets = g.opsets;
  body.name = "branch";
  const ValueId inner = body.add_capture("x", x, type);
  body.mark_output(body.emit("Relu", {inner}, {}, "relu"));
  octet::Node node;
  node.name = "if";
  node.op_type = "If";
  node.inputs = {c};
  node.outputs = {g.add_value("y", type)};
  node.captures = {x};
  node.attributes["then_branch"].value = octet::GraphPtr(std::make_shared<Graph>(body));
  node.attributes["else_branch"].value = octet::GraphPtr(std::make_shared<Graph>(body));
  g.mark_output(node.outputs[0]);
  g.add_node(std::move(node));
  return g;
}

/// A call of a function with an attribute.
Graph functions() {
  namespace pb = octet::onnx;
  pb::Encoder reference, node, opset, function;
  reference.bytes(pb::attribute::kName, "alpha");
  reference.bytes(pb::attribute::kReference, "slope");
  reference.integer(pb::attribute::kAttributeType, pb::attribute_type::kFloat);
  node.bytes(pb::node_proto::kInput, "a");
  node.bytes(pb::node_proto::kOutput, "b");
  node.bytes(pb::node_proto::kOpType, "LeakyRelu");
  node.message(pb::node_proto::kAttribute, reference);
  opset.bytes(pb::opset_id::kDomain, "");
  opset.integer(pb::opset_id::kVersion, 17);
  function.bytes(pb::function::kName, "F");
  function.bytes(pb::function::kDomain, "local");
  function.bytes(pb::function::kInput, "a");
  function.bytes(pb::function::kOutput, "b");
  function.bytes(pb::function::kAttribute, "slope");
  function.message(pb::function::kNode, node);
  function.message(pb::function::kOpsetImport, opset);
  Graph g;
  g.opsets = {{"", 17}, {"local", 1}};
  g.info.functions.push_back({"local", "F", "", function.str()});
  const ValueId x = g.add_input("x", octet::tensor_type(octet::DType::kFloat32, octet::Shape{2}));
  octet::Attributes slope;
  slope["slope"].value = 0.5F;
  g.mark_output(g.emit("F", {g.emit("F", {x}, slope, "f", "local")}, {}, "g", "local"));
  return g;
}

} // namespace

namespace octet::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const Graph& g : {attributes(), subgraphs(), functions()})
    out.push_back(serialize_onnx(g).value());
  return out;
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const octet::Result<Graph> graph = octet::parse_onnx(octet::fuzz::borrow(input));
  if (!graph.ok()) return 0;
  const octet::Result<std::string> bytes = octet::serialize_onnx(*graph);
  if (!bytes.ok()) std::abort();
  const octet::Result<Graph> again = octet::parse_onnx(octet::fuzz::borrow(*bytes));
  if (!again.ok() || again->content_hash() != graph->content_hash()) std::abort();
  Graph flat = *graph;
  if (octet::inline_functions(flat).ok() && !octet::serialize_onnx(flat).ok()) std::abort();
  return 0;
}
