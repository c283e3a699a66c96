// SPDX-License-Identifier: Apache-2.0
// Codes of less than 8 bits become bytes that a Clip before them keeps in their range:
//   x ─ Q of bytes ─ Clip(lo, hi)    =>    x ─ Clip((lo - z) s, (hi - z) s) ─ Q
//   x ─ Q of 4 or 2 bits ─ DQ        =>    x ─ Clip ─ Q of 8 bits ─ DQ
// Exact: a bound of the form k s divides back to k, and Q is monotone. Products write such codes by
// their epilogues.
#include "ops/qdq/clamp.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "passes/emit.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// The bounds between which x has codes of a range; nullopt where floats do not hold them, or NaN,
/// whose code is the zero point, would get a code out of it.
std::optional<Bounds> bounds_of(const qdq::Grid& grid, CodeRange range) {
  const qdq::Clamp out = qdq::numbers_of(grid, range);
  const double z = grid.zero_at(0);
  if (!qdq::are_floats(out) || z < range.lo || z > range.hi) return std::nullopt;
  return Bounds{out.lo, out.hi};
}

} // namespace

std::optional<Patch> clip_before_quantizing(const RuleContext& c, const Node& node) {
  if (!qdq::clamps_codes(c.graph, node)) return std::nullopt;
  const Node& quantize = *c.graph.producer(node.input(0));
  if (qdq::clamp_behind(c.graph, c.uses, quantize.output(0)) != &node ||
      c.graph.is_output(quantize.output(0)) ||
      c.graph.value(quantize.input(0)).type.type != DType::kFloat32)
    return std::nullopt;
  const auto grid = qdq::grid_of(c.graph, quantize, kForKernels);
  if (!grid) return std::nullopt;
  const CodeRange all = *grid->code_range();
  const auto range = qdq::clamped_range(c.graph, node, all);
  if (!range) return std::nullopt;
  Patch patch(c.graph, "a Clip of codes is one of numbers", Exactness::kExact);
  patch.from(node);
  patch.from(quantize);
  if (range->lo == all.lo && range->hi == all.hi) {
    patch.replace(node.output(0), quantize.output(0));
    return patch;
  }
  const auto bounds = bounds_of(*grid, *range);
  if (!bounds) return std::nullopt;
  const ValueId x = emit_clip(patch, c.graph, quantize.input(0), *bounds, DType::kFloat32,
                              node.name + "/numbers");
  std::vector<ValueId> inputs = quantize.inputs;
  inputs[0] = x;
  patch.replace(node.output(0), patch.emit(quantize.op_type, std::move(inputs), quantize.attributes,
                                           quantize.name, quantize.domain));
  return patch;
}

std::optional<Patch> widen_few_bits(const RuleContext& c, const Node& node) {
  if (!is_quantize(node) || c.graph.value(node.input(0)).type.type != DType::kFloat32)
    return std::nullopt;
  const auto grid = qdq::grid_of(c.graph, node, kOneScale);
  const auto range = grid ? grid->code_range() : std::nullopt;
  if (!range || bits(grid->codes) >= 8) return std::nullopt;
  const auto readers = qdq::dequantizers(c.graph, c.uses.of(node.output(0)), node.output(0), *grid);
  const auto bounds = bounds_of(*grid, *range);
  if (!readers || !bounds) return std::nullopt;
  Patch patch(c.graph, "codes of few bits are bytes", Exactness::kExact);
  patch.from(node);
  const qdq::Grid bytes =
      qdq::Grid::per_tensor_of(is_signed(grid->codes) ? DType::kInt8 : DType::kUint8,
                               grid->scale_at(0), grid->zero_at(0), DType::kFloat32);
  const ValueId x =
      emit_clip(patch, c.graph, node.input(0), *bounds, DType::kFloat32, node.name + "/numbers");
  const ValueId codes = qdq::emit_quantize(patch, bytes, x, node.name + "/bytes");
  for (const Node* reader : *readers) {
    patch.from(*reader);
    patch.replace(reader->output(0),
                  qdq::emit_dequantize(patch, bytes, codes, reader->name + "/bytes"));
  }
  return patch;
}

} // namespace octet::lowering
