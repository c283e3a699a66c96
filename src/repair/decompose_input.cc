// SPDX-License-Identifier: Apache-2.0
//   graph input(u8, or with a zero point) ─▶ DQ   =>   Cast(f32) ─▶ Sub(zero point) ─▶ Mul(scale)
//   zero point 128, uint8                         =>   the same ─▶ Q ─▶ DQ of int8
// Exact: DQ does the same in the same order, and the codes minus 128 are int8's. What reads the
// input of another zero point computes in float. Source: docs/targets.md 1.1 row 1, 7.
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> decompose_input(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || graph.is_output(node.output(0))) return std::nullopt;
  const ValueId codes = node.input(0);
  if (!codes.valid() || graph.value(codes).kind != ValueKind::kInput) return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid || !grid->per_tensor() || !grid->code_range() || grid->is_symmetric())
    return std::nullopt;
  Patch patch(graph, "codes that come in are turned into values by Cast, Sub and Mul",
              Exactness::kExact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  ValueId x = qdq::emit_arithmetic(patch, *grid, codes, 0, name);
  if (grid->codes == DType::kUint8 && grid->zero_at(0) == 128) {
    const qdq::Grid better = qdq::Grid::int8(grid->scale_at(0), grid->real());
    x = qdq::emit_dequantize(patch, better,
                             qdq::emit_quantize(patch, better, x, name + "_quantize"), name);
  }
  patch.replace(node.output(0), x);
  return Repair::exact(std::move(patch));
}

} // namespace octet
