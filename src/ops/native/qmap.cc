// SPDX-License-Identifier: Apache-2.0
// octet.native QMap (1). Map whose inputs may be codes, which are dequantized first, and whose
// result may be quantized: Dequantize, Map and Quantize one after the other, number by number.
// Attributes: program, constants; scales, zero_points, one for each input (of f32 ones they count
// for nothing); to (f32, i8, u8), scale, zero_point, lo, hi.
#include "ops/native/qmap.h"

#include <algorithm>

#include "core/format.h"
#include "core/numerics/round.h"
#include "ops/native/epilogue.h"
#include "ops/native/map.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/movement.h"

namespace octet::native {

Result<std::vector<float>> read_stored(const Tensor& x, const MapGrid& grid) {
  if (!grid.coded()) return x.to_floats();
  const std::vector<int64_t> codes = OCTET_TRY(x.to_ints());
  std::vector<float> out(codes.size());
  std::transform(codes.begin(), codes.end(), out.begin(), [&](int64_t code) {
    return numerics::dequantize(static_cast<int32_t>(code), grid.scale, grid.zero);
  });
  return out;
}

void write_stored(std::span<const float> numbers, const MapGrid& grid, Tensor& y) {
  if (!grid.coded()) {
    std::copy(numbers.begin(), numbers.end(), y.mutable_data<float>().begin());
    return;
  }
  std::transform(numbers.begin(), numbers.end(), y.mutable_bytes().begin(), [&](float number) {
    return static_cast<std::byte>(
        numerics::quantize(number, grid.scale, grid.zero, grid.lo, grid.hi));
  });
}

Result<QMapAttrs> parse_qmap(const Node& node, std::span<const DType> inputs) {
  QMapAttrs attrs;
  attrs.program = OCTET_TRY(parse_map(node, inputs.size()));
  const std::vector<float> scales = node.attr_floats("scales");
  const std::vector<int64_t> zeros = node.attr_ints("zero_points");
  if (scales.size() != inputs.size() || zeros.size() != inputs.size())
    return error("{} scales and {} zero points for {} inputs; give one for each", scales.size(),
                 zeros.size(), inputs.size());
  attrs.inputs.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    MapGrid grid{.type = inputs[i]};
    if (grid.coded()) {
      const CodeRange range = *code_range(grid.type);
      if (zeros[i] < range.lo || zeros[i] > range.hi)
        return error("zero_points[{}] is {}, which {} cannot hold", i, zeros[i], name(grid.type));
      grid.scale = scales[i];
      grid.zero = static_cast<int32_t>(zeros[i]);
    }
    attrs.inputs.push_back(grid);
  }
  attrs.y.type = static_cast<DType>(node.attr_int("to", static_cast<int64_t>(DType::kFloat32)));
  if (attrs.y.type == DType::kFloat32) return attrs;
  if (!kCodes.has(attrs.y.type))
    return error("to {}; use f32 (1), i8 (3) or u8 (2)", static_cast<int>(attrs.y.type));
  const CodeRange range = *code_range(attrs.y.type);
  attrs.y.scale = node.attr_float("scale", 1);
  attrs.y.zero = OCTET_TRY(parse_zero_point(node, "zero_point", attrs.y.type));
  const int64_t lo = node.attr_int("lo", range.lo), hi = node.attr_int("hi", range.hi);
  if (lo < range.lo || hi > range.hi || lo > hi)
    return error("codes from {} to {}, which is no range of {}", lo, hi, name(attrs.y.type));
  attrs.y.lo = static_cast<int32_t>(lo);
  attrs.y.hi = static_cast<int32_t>(hi);
  return attrs;
}

} // namespace octet::native

namespace octet::native::op_QMap {
namespace {

constexpr TypeSet kInputs{DType::kFloat32, DType::kInt8, DType::kUint8};

Result<QMapAttrs> attrs_of(const InferContext& c) {
  std::vector<DType> types;
  types.reserve(c.inputs.size());
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    OCTET_TRY(check_input(c, i, kInputs));
    types.push_back(c.input(i).type.type);
  }
  return parse_qmap(c.node, types);
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, numerics::kMaxMapInputs));
  const QMapAttrs attrs = OCTET_TRY(attrs_of(c));
  std::vector<std::vector<Dim>> shapes;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.input(i).type.has_rank()) shapes.push_back(*c.input(i).type.shape);
  if (shapes.size() < c.inputs.size()) return one(attrs.y.type, std::nullopt);
  return one(attrs.y.type, OCTET_TRY(broadcast_dims(shapes)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  std::vector<DType> types;
  types.reserve(c.inputs.size());
  for (const Tensor& input : c.inputs)
    types.push_back(input.type());
  const QMapAttrs attrs = OCTET_TRY(parse_qmap(c.node, types));
  std::vector<std::vector<float>> x;
  std::vector<std::vector<int64_t>> index;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    x.push_back(OCTET_TRY(read_stored(c.inputs[k], attrs.inputs[k])));
    index.push_back(broadcast_index(c.inputs[k].shape(), y.shape()));
  }
  std::vector<float> element(x.size());
  std::vector<float> results(static_cast<size_t>(y.count()));
  for (size_t i = 0; i < results.size(); ++i) {
    for (size_t k = 0; k < x.size(); ++k)
      element[k] = x[k][static_cast<size_t>(index[k][i])];
    results[i] = attrs.program.eval(element);
  }
  write_stored(results, attrs.y, y);
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_QMap
