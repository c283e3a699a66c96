// SPDX-License-Identifier: Apache-2.0
//   codes ─ DQ    =>    codes ─ Cast ─ Sub ─ Mul
// The same bits, for what DQ has no kernel: codes that are no bytes, or of several scales, which are
// no constants.
#include <algorithm>

#include "ops/evaluate.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"

namespace octet::lowering {

std::optional<Patch> dequantize_by_arithmetic(const RuleContext& c, const Node& node) {
  constexpr int kWholeInFloat = 16; // bits whose codes less any zero point are floats
  if (!is_dequantize(node)) return std::nullopt;
  const auto grid = qdq::grid_of(c.graph, node, {.f32_scale = true, .known_axis = true});
  const TypeInfo& codes = c.graph.value(node.input(0)).type;
  if (!grid || grid->block != 0 || !is_integer(grid->codes) || bits(grid->codes) < 8 ||
      !codes.has_rank() || qdq::grid_of(c.graph, node, kForKernels))
    return std::nullopt;
  const std::vector<double> zeros = grid->zeros();
  const bool centered = std::all_of(zeros.begin(), zeros.end(), [](double z) { return z == 0; });
  if (!centered && bits(grid->codes) > kWholeInFloat) return std::nullopt;
  if (comes_of_constants(c.graph, node.input(0))) return std::nullopt;
  Patch patch(c.graph, "the numbers of codes by arithmetic", Exactness::kExact);
  patch.from(node);
  patch.replace(node.output(0), qdq::emit_arithmetic(patch, *grid, node.input(0), codes.rank(),
                                                     node.name + "/arithmetic"));
  return patch;
}

} // namespace octet::lowering
