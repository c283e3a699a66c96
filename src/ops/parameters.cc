// SPDX-License-Identifier: Apache-2.0
// Parameters by role: a constant is followed through operators that only move its elements or
// quantize them, until an operator says what the input is to it.
#include "ops/parameters.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/format.h"
#include "core/string_util.h"
#include "ops/qdq/clamp.h"

namespace octet {
namespace {

constexpr double kMaskValue = -5000;

/// Elements of the input come out unchanged, moved or rounded to a grid. Not of what chooses by
/// their order, nor of one that others are put into.
bool passes_through(const Graph& graph, const Node& node, size_t input) {
  if (node.is("QuantizeLinear") || node.is("DequantizeLinear") || qdq::clamps_codes(graph, node))
    return input == 0;
  const Motion motion = motion_of(node);
  if (!motion.takes(input) || motion.kind == Motion::Kind::kOrder) return false;
  return motion.kind != Motion::Kind::kJoin || motion.inputs == Motion::kAll;
}

bool is_trainable(Role role) {
  return role == Role::kWeight || role == Role::kBias || role == Role::kGain;
}

/// Scalars (epsilons, square roots) and masks (very negative values) that an elementwise operator
/// takes are no parameters, though a vector in their place would be a bias or a gain.
bool is_plain_constant(const Node& node, const Tensor& tensor) {
  if (!facts_of(node).broadcasts) return false;
  if (tensor.count() <= 1) return true;
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (!(tensor.at(i) > kMaskValue)) return true;
  return false;
}

std::optional<Role> trainable_role(const Graph& graph, const Uses& uses, ValueId constant) {
  std::vector<ValueId> pending{constant};
  std::set<ValueId> seen{constant};
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    for (const Uses::Use& use : uses.of(value)) {
      const Node& node = graph.node(use.node);
      if (use.input >= node.inputs.size()) continue; // a capture
      const OpDef* op = find_op(node.domain, node.op_type);
      const Role role = op == nullptr ? Role::kData : op->roles.fn(node, use.input);
      if (is_trainable(role) && !is_plain_constant(node, graph.value(constant).constant))
        return role;
      if (is_trainable(role) || !passes_through(graph, node, use.input)) continue;
      for (const ValueId out : node.outputs)
        if (out.valid() && seen.insert(out).second) pending.push_back(out);
    }
  }
  return std::nullopt;
}

bool any_matches(std::span<const std::string> patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return glob_match(p, text); });
}

} // namespace

Result<std::vector<Parameter>> trainable_parameters(const Graph& graph,
                                                    std::span<const std::string> train,
                                                    std::span<const std::string> freeze) {
  const Uses uses(graph);
  std::vector<Parameter> found;
  std::vector<std::string_view> names;
  for (const ValueId id : graph.constants()) {
    const Value& value = graph.value(id);
    if (!is_float(value.constant.type())) continue;
    names.push_back(value.name);
    if (any_matches(freeze, value.name)) continue;
    if (const std::optional<Role> role = trainable_role(graph, uses, id))
      found.push_back({id, *role});
    else if (any_matches(train, value.name))
      found.push_back({id, Role::kWeight});
  }
  for (const std::span<const std::string> patterns : {train, freeze})
    for (const std::string& pattern : patterns)
      if (std::none_of(names.begin(), names.end(),
                       [&](std::string_view n) { return glob_match(pattern, n); }))
        return error("the pattern \"{}\" matches no float constant; octet inspect lists them",
                     pattern);
  return found;
}

} // namespace octet
