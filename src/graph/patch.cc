// SPDX-License-Identifier: Apache-2.0
#include "graph/patch.h"

#include <algorithm>

#include "core/check.h"
#include "core/format.h"
#include "graph/label.h"

namespace octet {

Patch::Patch(const Graph& graph, std::string why, Exactness exactness)
    : why_(std::move(why)), exactness_(exactness), base_(graph.value_bound()), next_(base_) {}

Patch& Patch::from(const Node& node) {
  const auto add = [&](const std::string& name) {
    if (std::find(origin_.begin(), origin_.end(), name) == origin_.end()) origin_.push_back(name);
  };
  if (node.origin.empty()) add(node.name);
  for (const std::string& name : node.origin)
    add(name);
  return *this;
}

ValueId Patch::emit(std::string op_type,
                    std::vector<ValueId> inputs,
                    Attributes attributes,
                    std::string node_name,
                    std::string domain,
                    int outputs) {
  Addition a;
  a.node.name = node_name.empty() ? op_type + "_" + std::to_string(next_) : std::move(node_name);
  a.node.op_type = std::move(op_type);
  a.node.domain = std::move(domain);
  a.node.inputs = std::move(inputs);
  a.node.attributes = std::move(attributes);
  const ValueId first{next_};
  for (int k = 0; k < outputs; ++k) {
    a.node.outputs.push_back(ValueId{next_++});
    a.output_names.push_back(k == 0 ? a.node.name : a.node.name + "_" + std::to_string(k));
  }
  additions_.push_back(std::move(a));
  return first;
}

void Patch::capture(ValueId first, std::vector<ValueId> values) {
  const auto made = std::find_if(additions_.begin(), additions_.end(), [&](const Addition& a) {
    return !a.node.outputs.empty() && a.node.outputs.front() == first;
  });
  OCTET_CHECK(made != additions_.end());
  made->node.captures = std::move(values);
}

ValueId Patch::constant(std::string value_name, Tensor tensor) {
  Addition a;
  a.output_names.push_back(std::move(value_name));
  a.tensor = std::move(tensor);
  additions_.push_back(std::move(a));
  return ValueId{next_++};
}

ValueId Patch::output(ValueId first, int k) const {
  return ValueId{first.index + k};
}

void Patch::replace(ValueId from, ValueId to) {
  replacements_.emplace_back(from, to);
}

void Patch::set_input(NodeId node, size_t index, ValueId value) {
  redirects_.push_back({node, index, value});
}

void Patch::import_opset(std::string domain, int64_t version) {
  opsets_.emplace_back(std::move(domain), version);
}

Result<std::vector<NodeId>> Patch::apply(Graph& graph) const {
  LiveUses uses(graph);
  return apply(graph, uses);
}

std::vector<ValueId> Patch::narrowed() const {
  std::vector<ValueId> out;
  for (const auto& [from, to] : replacements_)
    if (narrows_) out.push_back(to);
  return out;
}

std::vector<ValueId> Patch::frees(const Graph& graph) const {
  std::vector<ValueId> out;
  for (int32_t id = base_; id < next_; ++id)
    out.push_back(ValueId{id});
  for (const Redirect& r : redirects_)
    out.push_back(graph.node(r.node).input(r.index));
  for (const auto& [from, to] : replacements_)
    out.push_back(from);
  return out;
}

Result<std::vector<NodeId>> Patch::apply(Graph& graph, LiveUses& uses) const {
  if (graph.value_bound() != base_)
    return error(ErrorCode::kInternal, "the patch was made for another state of the graph");
  std::vector<NodeId> made;
  for (const Addition& a : additions_) {
    if (a.node.op_type.empty()) {
      graph.add_constant(a.output_names.front(), a.tensor);
      continue;
    }
    Node node = a.node;
    node.origin = origin_;
    for (const std::string& output_name : a.output_names)
      graph.add_value(output_name);
    made.push_back(graph.add_node(std::move(node)));
    uses.add(graph.node(made.back()));
  }
  const auto known = [&](ValueId id) { return !id.valid() || id.index < next_; };
  for (const NodeId id : made)
    for (const std::vector<ValueId>* read : {&graph.node(id).inputs, &graph.node(id).captures})
      for (const ValueId in : *read)
        if (!known(in))
          return error("node {}: reads value #{}", label(graph, graph.node(id)), in.index);
  for (const Redirect& r : redirects_) {
    if (!known(r.value)) return error("a redirected input reads value #{}", r.value.index);
    uses.set_input(graph, r.node, r.index, r.value);
  }
  for (const auto& [from, to] : replacements_) {
    if (!known(to)) return error("value #{} cannot stand in: no such value", to.index);
    if (!can_replace(graph, from, to))
      return error("graph output \"{}\" cannot become \"{}\"", graph.value(from).name,
                   graph.value(to).name);
    const bool is_output = graph.is_output(from);
    uses.replace(graph, from, to);
    if (to.index >= base_ || is_output) {
      const std::string taken = graph.value(from).name;
      graph.rename(from, taken + "_replaced");
      graph.rename(to, taken);
    }
    if (graph.value(to).type.type == DType::kUndefined) graph.set_type(to, graph.value(from).type);
  }
  for (const auto& [domain, version] : opsets_)
    if (graph.opset(domain) < version) graph.opsets[domain] = version;
  return made;
}

bool can_replace(const Graph& graph, ValueId from, ValueId to) {
  if (!graph.is_output(from)) return true;
  return graph.value(to).kind == ValueKind::kNodeOutput && !graph.is_output(to);
}

} // namespace octet
