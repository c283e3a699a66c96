// SPDX-License-Identifier: Apache-2.0
// Graph: building and changing. Ids index vectors that only grow.
#include "octet/graph.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "core/check.h"
#include "graph/bodies.h"

namespace octet {

int64_t Graph::opset(std::string_view domain) const {
  const auto found = opsets.find(std::string(domain == "ai.onnx" ? "" : domain));
  return found == opsets.end() ? 0 : found->second;
}

std::string Graph::unique_name(std::string_view base) {
  std::string candidate(base.empty() ? "value" : base);
  if (!by_name_.contains(candidate)) return candidate;
  int64_t& k = next_suffix_.try_emplace(candidate, 1).first->second;
  for (;; ++k) {
    std::string next = candidate + "_" + std::to_string(k);
    if (!by_name_.contains(next)) return next;
  }
}

void Graph::free_name(const std::string& value_name) {
  by_name_.erase(value_name);
  const size_t line = value_name.rfind('_');
  if (line == std::string::npos || line + 1 == value_name.size() || value_name[line + 1] == '0')
    return;
  const auto known = next_suffix_.find(std::string_view(value_name).substr(0, line));
  if (known == next_suffix_.end()) return;
  int64_t suffix = 0;
  const char* end = value_name.data() + value_name.size();
  const auto read = std::from_chars(value_name.data() + line + 1, end, suffix);
  if (read.ec == std::errc() && read.ptr == end && suffix > 0)
    known->second = std::min(known->second, suffix);
}

ValueId Graph::add_value(std::string value_name, TypeInfo type) {
  Value v;
  v.id = ValueId{value_bound()};
  const bool is_free = !value_name.empty() && !by_name_.contains(value_name);
  v.name = is_free ? std::move(value_name) : unique_name(value_name);
  v.type = std::move(type);
  by_name_.emplace(v.name, v.id);
  values_.push_back(std::move(v));
  return values_.back().id;
}

ValueId Graph::add_input(std::string value_name, TypeInfo type) {
  const ValueId id = add_value(std::move(value_name), std::move(type));
  at(id).kind = ValueKind::kInput;
  at(id).declared = true;
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  const ValueId id = add_value(std::move(value_name));
  set_constant(id, std::move(tensor));
  return id;
}

ValueId Graph::add_capture(std::string value_name, ValueId outer, TypeInfo type) {
  const ValueId id = add_value(std::move(value_name), std::move(type));
  at(id).kind = ValueKind::kCapture;
  at(id).captured = outer;
  return id;
}

ValueId Graph::add_like(const Value& other, ValueId outer) {
  OCTET_CHECK(outer.valid() == (other.kind == ValueKind::kCapture));
  const ValueId id = add_value(other.name, other.type);
  Value& v = at(id);
  v.kind = other.kind == ValueKind::kInput ? ValueKind::kNodeOutput : other.kind;
  v.constant = other.constant;
  v.captured = outer;
  v.doc = other.doc;
  v.metadata = other.metadata;
  v.declared = other.declared;
  v.serialized = other.serialized;
  return id;
}

NodeId Graph::add_node(Node node) {
  node.id = NodeId{node_bound()};
  for (const ValueId out : node.outputs) {
    if (!out.valid()) continue;
    Value& v = at(out);
    OCTET_CHECK(v.kind == ValueKind::kNodeOutput && !v.producer.valid());
    v.producer = node.id;
  }
  nodes_.push_back(std::move(node));
  node_alive_.push_back(true);
  return nodes_.back().id;
}

ValueId Graph::emit(std::string op_type,
                    std::vector<ValueId> inputs,
                    Attributes attributes,
                    std::string node_name,
                    std::string domain,
                    int outputs) {
  Node node;
  node.name =
      node_name.empty() ? op_type + "_" + std::to_string(node_bound()) : std::move(node_name);
  node.op_type = std::move(op_type);
  node.domain = std::move(domain);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (int k = 0; k < outputs; ++k)
    node.outputs.push_back(add_value(k == 0 ? node.name : node.name + "_" + std::to_string(k)));
  const ValueId first = node.outputs.front();
  add_node(std::move(node));
  return first;
}

void Graph::remove_node(NodeId id) {
  const auto index = static_cast<size_t>(id.index);
  if (!node_alive_[index]) return;
  for (const ValueId out : nodes_[index].outputs) {
    if (!out.valid()) continue;
    at(out).producer = NodeId{};
    free_name(at(out).name);
  }
  node_alive_[index] = false;
  nodes_[index] = Node{};
  nodes_[index].id = id;
}

void Graph::remove_value(ValueId id) {
  Value& v = at(id);
  if (v.producer.valid() || v.kind == ValueKind::kInput) return;
  v.kind = ValueKind::kNodeOutput;
  v.captured = ValueId{};
  v.constant = Tensor{};
  if (find_value(v.name) == id) free_name(v.name);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (node_alive_[i]) octet::replace_uses(nodes_[i], from, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::set_node_input(NodeId id, size_t index, ValueId value) {
  Node& node = mutable_node(id);
  if (index >= node.inputs.size()) node.inputs.resize(index + 1);
  node.inputs[index] = value;
}

void Graph::set_inputs(std::vector<ValueId> inputs) {
  for (const ValueId id : inputs_)
    if (at(id).kind == ValueKind::kInput) at(id).kind = ValueKind::kNodeOutput;
  for (const ValueId id : inputs) {
    Value& v = at(id);
    OCTET_CHECK(!v.producer.valid());
    v.kind = ValueKind::kInput;
    v.constant = Tensor{};
    v.captured = ValueId{};
  }
  inputs_ = std::move(inputs);
}

void Graph::set_constant(ValueId id, Tensor tensor) {
  Value& v = at(id);
  OCTET_CHECK(!v.producer.valid());
  if (v.kind == ValueKind::kInput) std::erase(inputs_, id);
  v.kind = ValueKind::kConstant;
  v.captured = ValueId{};
  v.type = tensor_type(tensor.type(), tensor.shape());
  v.constant = std::move(tensor);
}

void Graph::set_captured(ValueId id, ValueId outer) {
  Value& v = at(id);
  OCTET_CHECK(v.kind != ValueKind::kNodeOutput);
  if (v.kind == ValueKind::kInput) std::erase(inputs_, id);
  v.kind = ValueKind::kCapture;
  v.constant = Tensor{};
  v.captured = outer;
}

void Graph::set_type(ValueId id, TypeInfo type) {
  at(id).type = std::move(type);
}

void Graph::set_doc(ValueId id, std::string doc, Metadata metadata) {
  at(id).doc = std::move(doc);
  at(id).metadata = std::move(metadata);
}

void Graph::set_serialized(ValueId id, std::shared_ptr<const SerializedValue> serialized) {
  at(id).serialized = std::move(serialized);
}

std::string Graph::rename(ValueId id, std::string new_name) {
  Value& v = at(id);
  if (v.name == new_name) return new_name;
  if (find_value(v.name) == id) free_name(v.name);
  v.name = unique_name(new_name);
  by_name_.emplace(v.name, id);
  return v.name;
}

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> out;
  out.reserve(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (node_alive_[i]) out.push_back(nodes_[i].id);
  return out;
}

std::vector<ValueId> Graph::constants() const {
  std::vector<ValueId> out;
  for (const Value& v : values_)
    if (v.kind == ValueKind::kConstant) out.push_back(v.id);
  return out;
}

std::optional<ValueId> Graph::find_value(std::string_view value_name) const {
  const auto found = by_name_.find(value_name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<NodeId> Graph::find_node(std::string_view node_name) const {
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (node_alive_[i] && nodes_[i].name == node_name) return nodes_[i].id;
  return std::nullopt;
}

const Node* Graph::producer(ValueId id) const {
  if (!id.valid() || !value(id).producer.valid()) return nullptr;
  return &node(value(id).producer);
}

const Tensor* Graph::constant(ValueId id) const {
  if (!id.valid()) return nullptr;
  if (value(id).is_constant()) return &value(id).constant;
  const Node* made_by = producer(id);
  if (!made_by || !made_by->is("Constant")) return nullptr;
  const Attribute* a = made_by->attr("value");
  return a ? std::get_if<Tensor>(&a->value) : nullptr;
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end();
}

int Graph::remove_dead() {
  std::vector<int> uses(values_.size(), 0);
  for (const ValueId out : outputs_)
    ++uses[static_cast<size_t>(out.index)];
  const auto count = [&](const std::vector<ValueId>& ids, int by, std::vector<NodeId>* freed) {
    for (const ValueId id : ids) {
      if (!id.valid()) continue;
      int& n = uses[static_cast<size_t>(id.index)];
      n += by;
      if (n == 0 && freed && value(id).producer.valid()) freed->push_back(value(id).producer);
    }
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!node_alive_[i]) continue;
    count(nodes_[i].inputs, 1, nullptr);
    count(nodes_[i].captures, 1, nullptr);
  }
  const auto is_dead = [&](const Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return !id.valid() || uses[static_cast<size_t>(id.index)] == 0;
    });
  };
  std::vector<NodeId> work = nodes();
  int removed = 0;
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (!alive(id) || !is_dead(node(id))) continue;
    const Node gone = node(id);
    remove_node(id);
    ++removed;
    count(gone.inputs, -1, &work);
    count(gone.captures, -1, &work);
  }
  for (const Value& v : values_)
    if (uses[static_cast<size_t>(v.id.index)] == 0 &&
        (v.kind == ValueKind::kConstant || v.kind == ValueKind::kCapture))
      remove_value(v.id);
  return removed;
}

} // namespace octet
