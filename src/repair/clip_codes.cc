// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ Clip(lo, hi) ─▶ DQ   =>   x ─▶ Clip((lo - z) s, (hi - z) s) ─▶ Q ─▶ DQ
// Exact: a bound of the form k s divides back to k. At 8 bits the Clip is folded away: exact where
// it keeps all codes, within one step where it leaves out the lowest or the highest (QCDQ with
// narrow range). Source: docs/targets.md 1.3, 6, 7, 9.
#include <algorithm>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/clamp.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "passes/emit.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> clip_codes(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const Node* quantize = node.is("Clip") ? graph.producer(node.input(0)) : nullptr;
  if (quantize == nullptr || !is_quantize(*quantize)) return std::nullopt;
  const auto grid = qdq::grid_of(graph, *quantize);
  const auto all = grid ? grid->code_range() : std::nullopt;
  const auto range = all ? qdq::clamped_range(graph, node, *all) : std::nullopt;
  if (!range) return std::nullopt;
  const auto readers =
      qdq::dequantizers(graph, context.uses.of(node.output(0)), node.output(0), *grid);
  if (!readers) return std::nullopt;
  const int32_t left_out = (range->lo - all->lo) + (all->hi - range->hi);
  const bool fold = left_out <= 1;
  if (!fold && !grid->per_tensor()) return std::nullopt;
  Patch patch(graph,
              fold ? "Clip on 8-bit codes is folded away"
                   : fmt::format("Clip on codes [{}, {}] moves before Q", range->lo, range->hi),
              left_out == 1 ? Exactness::kInexact : Exactness::kExact);
  patch.from(node);
  ValueId codes = quantize->output(0);
  if (!fold) {
    const qdq::Clamp bounds = qdq::numbers_of(*grid, *range);
    const ValueId x = emit_clip(patch, graph, quantize->input(0), {bounds.lo, bounds.hi},
                                grid->real(), name_of(graph, node) + "_float");
    codes = qdq::emit_quantize(patch, *grid, x, name_of(graph, *quantize) + "_clipped");
  }
  double step = 0;
  for (const double scale : grid->scales())
    step = std::max(step, scale);
  for (const Node* reader : *readers) {
    patch.from(*reader);
    patch.replace(reader->output(0),
                  qdq::emit_dequantize(patch, *grid, codes, name_of(graph, *reader)));
  }
  return Repair{std::move(patch), left_out == 1 ? step : 0};
}

} // namespace octet
