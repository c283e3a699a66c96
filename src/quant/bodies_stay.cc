// SPDX-License-Identifier: Apache-2.0
#include "quant/bodies_stay.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/format.h"

namespace octet {

namespace {

/// The graph's inputs that a value is computed from; nothing where more than a few nodes do it.
std::set<ValueId> inputs_behind(const Graph& graph, ValueId value) {
  constexpr size_t kMostValues = 64;
  std::set<ValueId> inputs, seen{value};
  std::vector<ValueId> left{value};
  while (!left.empty()) {
    const ValueId id = left.back();
    left.pop_back();
    const Value& v = graph.value(id);
    if (v.kind == ValueKind::kInput) inputs.insert(id);
    if (v.kind == ValueKind::kCapture || seen.size() > kMostValues) return {};
    const Node* maker = graph.producer(id);
    if (maker == nullptr) continue;
    for (const std::vector<ValueId>* read : {&maker->inputs, &maker->captures})
      for (const ValueId in : *read)
        if (in.valid() && seen.insert(in).second) left.push_back(in);
  }
  return inputs;
}

} // namespace

std::string why_bodies_stay(const Graph& graph, const Node& node) {
  std::string why = "what stands in its bodies is not quantized";
  if (!node.is("If") || !node.input(0).valid()) return why;
  const std::set<ValueId> inputs = inputs_behind(graph, node.input(0));
  if (inputs.size() != 1) return why;
  const Value& decides = graph.value(*inputs.begin());
  const auto shape = decides.type.static_shape();
  if (!shape || std::any_of(shape->begin(), shape->end(), [](int64_t n) { return n != 1; }))
    return why;
  return fmt::format(
      "{}; where the input \"{}\" always has one value, --drop-input {}=VALUE leaves "
      "one branch of it, which is",
      why, decides.name, decides.name);
}

} // namespace octet
