// SPDX-License-Identifier: Apache-2.0
//   Q or DQ with n scales and 1 zero point (or the other way, all alike)  =>  as many of each
// Exact. Source: docs/targets.md 1.1 row 13.
#include <algorithm>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> match_zero_point(const RepairContext& context, const Node& node) {
  if (!is_qdq(node)) return std::nullopt;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  const Tensor* zero = qdq::written(context.graph, node).zeros;
  if (scale == nullptr || zero == nullptr || zero->count() == 0 || scale->count() == zero->count())
    return std::nullopt;
  const double first = zero->at(0);
  for (int64_t i = 1; i < zero->count(); ++i)
    if (zero->at(i) != first) return std::nullopt;
  const std::vector<double> values(static_cast<size_t>(scale->count()), first);
  auto tensor = Tensor::from_doubles(zero->type(), scale->shape(), values);
  if (!tensor.ok()) return std::nullopt;
  Patch patch(context.graph,
              fmt::format("{} zero points for {} scales, all {}: as many of each", zero->count(),
                          scale->count(), first),
              Exactness::kExact);
  patch.from(node).set_input(node.id, 2,
                             patch.constant(name_of(context.graph, node) + "_zero_point", *tensor));
  return Repair::exact(std::move(patch));
}

} // namespace octet
