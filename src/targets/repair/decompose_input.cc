// SPDX-License-Identifier: Apache-2.0
//   graph input(u8, or with a zero point) ─▶ DQ   =>   Cast(f32) ─▶ Sub(zero point) ─▶ Mul(scale)
//   zero point 128, uint8                         =>   the same ─▶ Q ─▶ DQ of int8
// Exact: DQ does the same in the same order, and the codes minus 128 are int8's. What reads the
// input of another zero point computes in float. Source: docs/targets.md 1.1 row 1, 7.
#include "targets/repair/coding.h"
#include "targets/repair/rules.h"

namespace octet {

std::optional<Repair> decompose_input(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || graph.is_output(node.output(0))) return std::nullopt;
  const ValueId codes = node.input(0);
  if (!codes.valid() || graph.value(codes).kind != ValueKind::kInput) return std::nullopt;
  const auto coding = coding_of(graph, node);
  if (!coding || coding->per_channel() || !code_range(coding->codes) || is_symmetric(*coding))
    return std::nullopt;
  Patch patch(graph, "codes that come in are turned into values by Cast, Sub and Mul",
              Exactness::kExact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  ValueId x = emit_decoded(patch, *coding, codes, 0, name);
  if (coding->codes == DType::kUint8 && coding->zeros[0] == 128) {
    const Coding better = int8_coding(coding->scales[0], coding->real);
    x = emit_dequantize(patch, better, emit_quantize(patch, better, x, name + "_quantize"), name);
  }
  patch.replace(node.output(0), x);
  return Repair::exact(std::move(patch));
}

} // namespace octet
