// SPDX-License-Identifier: Apache-2.0
// Source: onnx.proto, GraphProto.
#include "onnx/write_graph.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "core/format.h"
#include "graph/label.h"
#include "graph/serialized.h"
#include "onnx/read_sparse.h"
#include "onnx/schema.h"
#include "onnx/types.h"
#include "onnx/write_attribute.h"

namespace octet::onnx {
namespace {

Source borrowed(const std::string& bytes) {
  return {Buffer::borrow(std::as_bytes(std::span<const char>(bytes))), nullptr};
}

/// The fields of a message but those of one number.
std::string without(Bytes message, uint32_t field) {
  std::string out;
  Reader reader(message, message.data());
  while (reader.next())
    if (reader.field() != field) out.append(reader.raw());
  return out;
}

Names name_values(const Graph& graph, const Names* outer) {
  Names names(static_cast<size_t>(graph.value_bound()));
  std::set<std::string, std::less<>> taken;
  for (int32_t i = 0; i < graph.value_bound() && outer != nullptr; ++i) {
    const Value& v = graph.value(ValueId{i});
    if (v.kind != ValueKind::kCapture) continue;
    names[static_cast<size_t>(i)] = (*outer)[static_cast<size_t>(v.captured.index)];
    taken.insert(names[static_cast<size_t>(i)]);
  }
  for (int32_t i = 0; i < graph.value_bound(); ++i) {
    const Value& v = graph.value(ValueId{i});
    std::string& name = names[static_cast<size_t>(i)];
    if (v.kind == ValueKind::kCapture && outer != nullptr) continue;
    name = v.name;
    for (int k = 1; taken.contains(name); ++k)
      if (name = fmt::format("{}_inner{}", v.name, k); graph.find_value(name)) name = v.name;
  }
  return names;
}

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const Names* outer, ExternalPlan* external)
      : graph_(graph), external_(external), names_(name_values(graph, outer)) {}

  Result<Encoder> run() {
    for (const NodeId id : OCTET_TRY(graph_.topological())) {
      const Node& node = graph_.node(id);
      out_.message(graph_proto::kNode,
                   OCTET_TRY_WITH(encode_node(node), "node " + label(graph_, node)));
    }
    out_.text(graph_proto::kName, graph_.name);
    add_constants();
    out_.text(graph_proto::kDocString, graph_.info.graph_doc);
    add_interface();
    for (const auto& [key, value] : graph_.info.graph_metadata)
      out_.message(graph_proto::kMetadataProps, encode_entry(key, value));
    out_.raw(serialized(graph_.info).graph);
    return std::move(out_);
  }

 private:
  const std::string& name(ValueId id) const { return names_[static_cast<size_t>(id.index)]; }

  Result<Encoder> encode_node(const Node& node) {
    Encoder out;
    for (const ValueId id : node.inputs)
      out.bytes(node_proto::kInput, id.valid() ? name(id) : std::string_view{});
    for (const ValueId id : node.outputs)
      out.bytes(node_proto::kOutput, id.valid() ? name(id) : std::string_view{});
    out.text(node_proto::kName, node.name);
    out.bytes(node_proto::kOpType, node.op_type);
    for (const auto& [key, attribute] : node.attributes)
      out.message(node_proto::kAttribute,
                  OCTET_TRY(encode_attribute(key, attribute, names_, external_)));
    out.text(node_proto::kDocString, node.doc);
    out.text(node_proto::kDomain, node.domain);
    out.text(node_proto::kOverload, node.overload);
    for (const auto& [key, value] : node.metadata)
      out.message(node_proto::kMetadataProps, encode_entry(key, value));
    out.raw(serialized(node).fields);
    return out;
  }

  void add_constants() {
    for (const ValueId id : graph_.constants()) {
      const Value& v = graph_.value(id);
      if (add_sparse(v)) continue;
      out_.message(graph_proto::kInitializer,
                   encode_tensor(v.constant, name(id), serialized(v).tensor, external_));
    }
  }

  /// Writes a constant that was sparse in the file, and has not changed, as it was.
  bool add_sparse(const Value& v) {
    const std::string& sparse = serialized(v).sparse;
    if (sparse.empty()) return false;
    const Source source = borrowed(sparse);
    const Result<ReadTensor> read = read_sparse_tensor(source.all(), source);
    if (!read.ok() || !read->tensor.identical(v.constant)) return false;
    Encoder out;
    Reader reader = source.reader(source.all());
    while (reader.next()) {
      if (reader.field() == sparse_tensor::kValues) {
        Encoder values;
        values.raw(without(reader.bytes(), tensor_proto::kName));
        values.bytes(tensor_proto::kName, name(v.id));
        out.message(sparse_tensor::kValues, values);
      } else {
        out.raw(reader.raw());
      }
    }
    out_.message(graph_proto::kSparseInitializer, out);
    return true;
  }

  Encoder encode_info(const Value& v) const {
    Encoder out;
    out.bytes(value_info::kName, name(v.id));
    out.raw(type_to_write(v));
    out.text(value_info::kDocString, v.doc);
    for (const auto& [key, value] : v.metadata)
      out.message(value_info::kMetadataProps, encode_entry(key, value));
    return out;
  }

  int32_t input_position(ValueId id) const { return serialized(graph_.value(id)).input_position; }

  /// The graph inputs with those initializers that are inputs too, each at its place.
  std::vector<ValueId> all_inputs() const {
    std::vector<ValueId> defaulted;
    for (const ValueId id : graph_.constants())
      if (input_position(id) >= 0) defaulted.push_back(id);
    std::stable_sort(defaulted.begin(), defaulted.end(),
                     [&](ValueId a, ValueId b) { return input_position(a) < input_position(b); });
    std::vector<ValueId> out;
    auto next = defaulted.begin();
    const auto place = [&](bool all) {
      while (next != defaulted.end() &&
             (all || input_position(*next) <= static_cast<int32_t>(out.size())))
        out.push_back(*next++);
    };
    for (const ValueId id : graph_.inputs()) {
      place(false);
      out.push_back(id);
    }
    place(true);
    return out;
  }

  void add_interface() {
    for (const ValueId id : all_inputs())
      out_.message(graph_proto::kInput, encode_info(graph_.value(id)));
    for (const ValueId id : graph_.outputs())
      out_.message(graph_proto::kOutput, encode_info(graph_.value(id)));
    for (int32_t i = 0; i < graph_.value_bound(); ++i) {
      const Value& v = graph_.value(ValueId{i});
      const bool is_hole = graph_.find_value(v.name) != v.id;
      if (is_hole || v.kind == ValueKind::kInput || input_position(v.id) >= 0) continue;
      if (v.declared) out_.message(graph_proto::kValueInfo, encode_info(v));
    }
    for (int32_t i = 0; i < graph_.value_bound(); ++i) {
      const Value& v = graph_.value(ValueId{i});
      const std::string& quantization = serialized(v).quantization;
      if (quantization.empty() || graph_.find_value(v.name) != v.id) continue;
      Encoder annotated;
      annotated.bytes(annotation::kTensorName, name(v.id));
      annotated.raw(quantization);
      out_.message(graph_proto::kQuantizationAnnotation, annotated);
    }
  }

  const Graph& graph_;
  ExternalPlan* external_;
  Names names_;
  Encoder out_;
};

} // namespace

Result<Encoder> encode_graph(const Graph& graph, const Names* outer, ExternalPlan* external) {
  return GraphWriter(graph, outer, external).run();
}

Result<Encoder> encode_graph(const Graph& graph, ExternalPlan* external) {
  return encode_graph(graph, nullptr, external);
}

} // namespace octet::onnx
