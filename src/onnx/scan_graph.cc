// SPDX-License-Identifier: Apache-2.0
// The first walk over a GraphProto or FunctionProto: scalar fields are read, the others collected.
#include "core/format.h"
#include "onnx/read_graph.h"
#include "onnx/read_tensor.h"
#include "onnx/schema.h"

namespace octet::onnx {
namespace {

/// The first field of that number; empty when there is none or the message is broken (whoever reads
/// it whole reports that).
Bytes find_field(Bytes message, uint32_t field, const Source& source) {
  Reader reader = source.reader(message);
  while (reader.next())
    if (reader.field() == field) return reader.bytes();
  return {};
}

} // namespace

Status GraphReader::scan_node(Bytes message, NodeFields& out) {
  Node& node = out.node;
  SerializedNode kept;
  Reader reader = source_.reader(message);
  while (reader.next()) {
    switch (reader.field()) {
    case node_proto::kInput:
      out.inputs.push_back(reader.bytes());
      break;
    case node_proto::kOutput:
      out.outputs.push_back(reader.bytes());
      break;
    case node_proto::kName:
      out.name = reader.bytes();
      break;
    case node_proto::kOpType:
      out.op_type = reader.bytes();
      break;
    case node_proto::kAttribute:
      out.attributes.push_back(reader.bytes());
      break;
    case node_proto::kDocString:
      node.doc = reader.text();
      break;
    case node_proto::kDomain:
      node.domain = reader.text();
      break;
    case node_proto::kOverload:
      node.overload = reader.text();
      break;
    case node_proto::kMetadataProps:
      node.metadata.push_back(OCTET_TRY(read_entry(reader.bytes(), source_)));
      break;
    default:
      kept.fields.append(reader.raw());
    }
  }
  OCTET_TRY(reader.finish());
  if (out.op_type.empty()) return error("has no op_type");
  node.name = std::string(out.name);
  node.op_type = std::string(out.op_type);
  if (node.domain == "ai.onnx") node.domain.clear();
  if (!kept.fields.empty())
    node.serialized = std::make_shared<const SerializedNode>(std::move(kept));
  return ok_status();
}

Status GraphReader::scan(Bytes message, Fields& out) {
  Reader reader = source_.reader(message);
  SerializedModel kept;
  graph_.name.clear();
  while (reader.next()) {
    switch (reader.field()) {
    case graph_proto::kNode:
      nodes_.emplace_back();
      OCTET_TRY_WITH(scan_node(reader.bytes(), nodes_.back()),
                     fmt::format("node[{}]", nodes_.size() - 1));
      break;
    case graph_proto::kName:
      graph_.name = reader.text();
      break;
    case graph_proto::kInitializer: {
      const Bytes tensor = reader.bytes();
      out.initializers.push_back({tensor, find_field(tensor, tensor_proto::kName, source_)});
      break;
    }
    case graph_proto::kSparseInitializer: {
      const Bytes sparse = reader.bytes();
      const Bytes values = find_field(sparse, sparse_tensor::kValues, source_);
      out.sparse_initializers.push_back({sparse, find_field(values, tensor_proto::kName, source_)});
      break;
    }
    case graph_proto::kDocString:
      graph_.info.graph_doc = reader.text();
      break;
    case graph_proto::kInput:
      out.inputs.push_back(reader.bytes());
      break;
    case graph_proto::kOutput:
      out.outputs.push_back(reader.bytes());
      break;
    case graph_proto::kValueInfo:
      out.value_infos.push_back(reader.bytes());
      break;
    case graph_proto::kQuantizationAnnotation:
      out.annotations.push_back(reader.bytes());
      break;
    case graph_proto::kMetadataProps:
      graph_.info.graph_metadata.push_back(OCTET_TRY(read_entry(reader.bytes(), source_)));
      break;
    default:
      kept.graph.append(reader.raw());
    }
  }
  if (!kept.graph.empty())
    graph_.info.serialized = std::make_shared<const SerializedModel>(std::move(kept));
  return reader.finish();
}

Status GraphReader::scan_function(Bytes message, Fields& out) {
  Reader reader = source_.reader(message);
  while (reader.next()) {
    switch (reader.field()) {
    case function::kInput:
      out.input_names.push_back(reader.bytes());
      break;
    case function::kOutput:
      out.output_names.push_back(reader.bytes());
      break;
    case function::kNode:
      nodes_.emplace_back();
      OCTET_TRY_WITH(scan_node(reader.bytes(), nodes_.back()),
                     fmt::format("node[{}]", nodes_.size() - 1));
      break;
    case function::kValueInfo:
      out.value_infos.push_back(reader.bytes());
      break;
    default:
      break;
    }
  }
  return reader.finish();
}

} // namespace octet::onnx
