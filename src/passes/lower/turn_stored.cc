// SPDX-License-Identifier: Apache-2.0
//   stored codes ─▶ DQ ─▶ Transpose ─▶ y    =>    turned codes ─▶ DQ ─▶ y
// Exact. PyTorch's exporters leave weights [N, K] and turn what DQ makes of them; products look for
// codes right behind DQ.
#include <algorithm>

#include "ops/qdq/emit.h"
#include "ops/qdq/stored.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"

namespace octet::lowering {

std::optional<Patch> turn_stored(const RuleContext& c, const Node& node) {
  if (!node.is("Transpose")) return std::nullopt;
  const auto stored = qdq::stored_codes(c.graph, node.input(0));
  if (!stored || stored->grid.block != 0) return std::nullopt;
  const int64_t rank = stored->codes.rank();
  std::vector<int64_t> perm = node.attr_ints("perm");
  if (perm.empty())
    for (int64_t axis = rank - 1; axis >= 0; --axis)
      perm.push_back(axis);
  if (std::ssize(perm) != rank) return std::nullopt;
  qdq::Grid grid = stored->grid.with(stored->codes.type(), stored->grid.zeros());
  if (!grid.per_tensor()) {
    if (!grid.axis) return std::nullopt;
    grid.axis_written = std::find(perm.begin(), perm.end(), *grid.axis) - perm.begin();
  }
  Patch patch(c.graph, "stored codes are turned once", Exactness::kExact);
  patch.from(node);
  const std::string name = node.name + "/turned";
  const auto turned = [&](const Tensor& codes) { return permuted(codes, perm); };
  const ValueId codes = patch.constant(name, moved_codes(stored->codes, turned));
  patch.replace(node.output(0), qdq::emit_dequantize(patch, grid, codes, name + "/dequantize"));
  return patch;
}

} // namespace octet::lowering
