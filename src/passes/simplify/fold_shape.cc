// SPDX-License-Identifier: Apache-2.0
//   x: f32[2, 3] ─▶ Shape ─▶ y        =>      constant y = [2, 3]
// Exact. Only where every dimension asked for is a constant.
#include <algorithm>

#include "graph/edit.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fold_shape(const RuleContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const bool is_size = node.is("Size");
  if (!(node.is("Shape") || is_size) || !node.input(0).valid()) return std::nullopt;
  const ValueId y = node.output(0);
  const TypeInfo& type = graph.value(node.input(0)).type;
  if (!type.has_rank() || graph.is_output(y)) return std::nullopt;
  const int64_t rank = type.rank();
  const auto clip = [&](int64_t d) { return std::clamp(d < 0 ? d + rank : d, int64_t{0}, rank); };
  const int64_t begin = is_size ? 0 : clip(node.attr_int("start", 0));
  const int64_t end = is_size ? rank : clip(node.attr_int("end", rank));
  std::vector<int64_t> dims;
  int64_t product = 1;
  for (int64_t d = begin; d < end; ++d) {
    const auto value = (*type.shape)[static_cast<size_t>(d)].maybe_value();
    if (!value) return std::nullopt;
    dims.push_back(*value);
    product *= *value;
  }
  Patch patch(graph, "the shape is known", Exactness::kExact);
  const Tensor constant = is_size ? Tensor::scalar<int64_t>(product) : int_list(dims);
  patch.replace(y, patch.constant(graph.value(y).name, constant));
  return patch;
}

} // namespace octet
