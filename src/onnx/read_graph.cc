// SPDX-License-Identifier: Apache-2.0
// Inputs, constants and node outputs are declared first, so that nodes may come in any order and a
// name of the graph itself goes before the same name outside. Source: onnx.proto, GraphProto.
#include "onnx/read_graph.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "core/format.h"
#include "graph/verify.h"
#include "onnx/read_attribute.h"
#include "onnx/read_sparse.h"
#include "onnx/schema.h"

namespace octet::onnx {

Result<GraphReader::Info> GraphReader::read_info(Bytes message) {
  Info out;
  Reader reader = source_.reader(message);
  while (reader.next()) {
    switch (reader.field()) {
    case value_info::kName:
      out.name = reader.bytes();
      break;
    case value_info::kType:
      out.type =
          OCTET_TRY_WITH(read_type(reader, source_), fmt::format("type of \"{}\"", out.name));
      break;
    case value_info::kDocString:
      out.doc = reader.text();
      break;
    case value_info::kMetadataProps:
      out.metadata.push_back(OCTET_TRY(read_entry(reader.bytes(), source_)));
      break;
    default:
      break;
    }
  }
  OCTET_TRY(reader.finish());
  if (out.name.empty()) return error("has no name");
  return out;
}

Status GraphReader::declare(std::string_view name, ValueId id) {
  if (!names_.emplace(name, id).second)
    return error("value \"{}\" is defined twice; names must be unique in a graph", name);
  return ok_status();
}

void GraphReader::apply(ValueId id, Info& info) {
  const Value& v = graph_.value(id);
  std::string as_read = std::move(info.type.as_read);
  if (v.is_constant() && as_read.empty()) {
    std::string written = encode_type(info.type.type);
    if (written != encode_type(v.type)) as_read = std::move(written);
  }
  if (!v.is_constant()) graph_.set_type(id, std::move(info.type.type));
  if (!as_read.empty() || serialized_.contains(id)) serialized_[id].type = std::move(as_read);
  graph_.set_doc(id, std::move(info.doc), std::move(info.metadata));
}

ValueId GraphReader::resolve(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  if (parent_ == nullptr) return {};
  const ValueId outer = parent_->resolve(name);
  if (!outer.valid()) return {};
  const ValueId id =
      graph_.add_capture(std::string(name), outer, parent_->graph_.value(outer).type);
  names_.emplace(name, id);
  return id;
}

Status GraphReader::add_inputs(const Fields& fields) {
  for (const std::string_view name : fields.input_names) {
    if (name.empty()) return error("an input has no name");
    OCTET_TRY(declare(name, graph_.add_input(std::string(name), {})));
  }
  std::unordered_set<std::string_view> initialized;
  for (const NamedMessage& m : fields.initializers)
    initialized.insert(m.name);
  for (const NamedMessage& m : fields.sparse_initializers)
    initialized.insert(m.name);
  for (size_t i = 0; i < fields.inputs.size(); ++i) {
    const auto frame = [&] { return fmt::format("input[{}]", i); };
    Info info = OCTET_TRY_WITH(read_info(fields.inputs[i]), frame());
    if (initialized.contains(info.name)) {
      info.position = static_cast<int32_t>(i);
      const std::string_view name = info.name;
      if (!defaulted_.emplace(name, std::move(info)).second)
        return error("input[{}]: \"{}\" is listed twice", i, name);
      continue;
    }
    const ValueId id = graph_.add_input(std::string(info.name), {});
    OCTET_TRY_WITH(declare(info.name, id), frame());
    apply(id, info);
  }
  return ok_status();
}

Status GraphReader::add_constants(const Fields& fields) {
  const auto add = [&](ReadTensor& read, std::string_view name) -> Status {
    if (name.empty()) return error("has no name");
    const ValueId id = graph_.add_constant(std::string(name), std::move(read.tensor));
    OCTET_TRY(declare(name, id));
    if (!read.fields.empty()) serialized_[id].tensor = std::move(read.fields);
    const auto input = defaulted_.find(name);
    if (input == defaulted_.end()) return ok_status();
    serialized_[id].input_position = input->second.position;
    apply(id, input->second);
    return ok_status();
  };
  for (size_t i = 0; i < fields.initializers.size(); ++i) {
    const auto& [message, name] = fields.initializers[i];
    const auto frame = [&] { return fmt::format("initializer[{}]", i); };
    ReadTensor read = OCTET_TRY_WITH(read_tensor(message, source_), frame());
    OCTET_TRY_WITH(add(read, name), frame());
  }
  for (size_t i = 0; i < fields.sparse_initializers.size(); ++i) {
    const auto& [message, name] = fields.sparse_initializers[i];
    const auto frame = [&] { return fmt::format("sparse_initializer[{}]", i); };
    ReadTensor read = OCTET_TRY_WITH(read_sparse_tensor(message, source_), frame());
    OCTET_TRY_WITH(add(read, name), frame());
    serialized_[names_.at(name)].sparse = std::string(message);
  }
  return ok_status();
}

Status GraphReader::add_node_outputs() {
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (const std::string_view name : nodes_[i].outputs)
      if (!name.empty())
        OCTET_TRY_WITH(declare(name, graph_.add_value(std::string(name))),
                       fmt::format("node[{}]", i));
  return ok_status();
}

/// Types of node outputs must be there before nodes are read: subgraphs copy them into captures.
Status GraphReader::add_types(const Fields& fields) {
  for (size_t i = 0; i < fields.value_infos.size(); ++i) {
    Info info = OCTET_TRY_WITH(read_info(fields.value_infos[i]), fmt::format("value_info[{}]", i));
    const auto found = names_.find(info.name);
    if (found == names_.end()) {
      late_.push_back(std::move(info));
      continue;
    }
    const bool is_input =
        graph_.value(found->second).kind == ValueKind::kInput || defaulted_.contains(info.name);
    if (!is_input) apply(found->second, info);
    graph_.set_declared(found->second);
  }
  for (size_t i = 0; i < fields.outputs.size(); ++i) {
    Info info = OCTET_TRY_WITH(read_info(fields.outputs[i]), fmt::format("output[{}]", i));
    const auto found = names_.find(info.name);
    if (found == names_.end()) continue;
    const Value& v = graph_.value(found->second);
    if (v.kind == ValueKind::kNodeOutput && (info.type.says_something() || !v.declared))
      apply(v.id, info);
  }
  return ok_status();
}

Status GraphReader::add_node(NodeFields& fields) {
  Node node = std::move(fields.node);
  for (size_t i = 0; i < fields.inputs.size(); ++i) {
    const std::string_view name = fields.inputs[i];
    const ValueId id = name.empty() ? ValueId{} : resolve(name);
    if (!name.empty() && !id.valid())
      return error("input {}: nothing defines a value called \"{}\"", i, name);
    node.inputs.push_back(id);
  }
  for (const std::string_view name : fields.outputs)
    node.outputs.push_back(name.empty() ? ValueId{} : names_.at(name));
  std::set<ValueId> captured;
  const auto capture = [&](const GraphPtr& body) {
    for (int32_t i = 0; i < body->value_bound(); ++i) {
      const Value& v = body->value(ValueId{i});
      if (v.kind == ValueKind::kCapture && captured.insert(v.captured).second)
        node.captures.push_back(v.captured);
    }
  };
  for (const Bytes message : fields.attributes) {
    auto [name, read] = OCTET_TRY(read_attribute(message, *this));
    if (const auto* body = std::get_if<GraphPtr>(&read.value)) capture(*body);
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&read.value))
      std::for_each(bodies->begin(), bodies->end(), capture);
    if (name.empty()) return error("an attribute has no name");
    if (!node.attributes.emplace(name, std::move(read)).second)
      return error("attribute \"{}\" is given twice", name);
  }
  graph_.add_node(std::move(node));
  return ok_status();
}

Status GraphReader::add_nodes() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::string_view type = nodes_[i].op_type, name = nodes_[i].name;
    OCTET_TRY_WITH(add_node(nodes_[i]), fmt::format("node[{}] {} \"{}\"", i, type, name));
  }
  return ok_status();
}

/// A name that only a value info or an annotation knows: kept as a value that nothing produces.
ValueId GraphReader::stray(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  return names_.emplace(name, graph_.add_value(std::string(name))).first->second;
}

void GraphReader::add_late_types() {
  for (Info& info : late_) {
    const ValueId id = stray(info.name);
    apply(id, info);
    graph_.set_declared(id);
  }
}

Status GraphReader::add_annotations(const Fields& fields) {
  for (size_t i = 0; i < fields.annotations.size(); ++i) {
    std::string_view name;
    std::string parameters;
    Reader reader = source_.reader(fields.annotations[i]);
    while (reader.next()) {
      if (reader.field() == annotation::kTensorName)
        name = reader.bytes();
      else
        parameters.append(reader.raw());
    }
    OCTET_TRY_WITH(reader.finish(), fmt::format("quantization_annotation[{}]", i));
    if (name.empty()) return error("quantization_annotation[{}]: has no tensor_name", i);
    const ValueId id = stray(name);
    if (!parameters.empty()) serialized_[id].quantization.append(parameters);
  }
  return ok_status();
}

Status GraphReader::add_outputs(const Fields& fields) {
  for (const std::string_view name : fields.output_names) {
    const ValueId id = resolve(name);
    if (!id.valid()) return error("output \"{}\": nothing defines it", name);
    graph_.mark_output(id);
  }
  for (size_t i = 0; i < fields.outputs.size(); ++i) {
    const Info info = OCTET_TRY(read_info(fields.outputs[i]));
    const ValueId id = resolve(info.name);
    if (!id.valid())
      return error("output[{}]: nothing defines a value called \"{}\"", i, info.name);
    graph_.mark_output(id);
  }
  return ok_status();
}

Result<Graph> GraphReader::finish(const Fields& fields) {
  OCTET_TRY(add_inputs(fields));
  OCTET_TRY(add_constants(fields));
  OCTET_TRY(add_node_outputs());
  OCTET_TRY(add_types(fields));
  OCTET_TRY(add_nodes());
  OCTET_TRY(add_outputs(fields));
  add_late_types();
  OCTET_TRY(add_annotations(fields));
  for (auto& [id, said] : serialized_)
    graph_.set_serialized(id, std::make_shared<const SerializedValue>(std::move(said)));
  return std::move(graph_);
}

Result<Graph> GraphReader::read(Bytes message) {
  Fields fields;
  OCTET_TRY(scan(message, fields));
  return finish(fields);
}

Result<Graph> GraphReader::read_function(Bytes message) {
  Fields fields;
  OCTET_TRY(scan_function(message, fields));
  return finish(fields);
}

Result<GraphPtr> GraphReader::read_subgraph(Bytes message) {
  if (depth_ + 1 > kMaxSubgraphDepth)
    return error("subgraphs nest deeper than {}", kMaxSubgraphDepth);
  GraphReader inner(Inside{}, *this);
  return GraphPtr(std::make_shared<const Graph>(OCTET_TRY(inner.read(message))));
}

} // namespace octet::onnx
