// SPDX-License-Identifier: Apache-2.0
// octet.native QResize (1). Resize that interpolates, of codes, to codes, or both: Dequantize, Resize
// and Quantize one after the other. Inputs and attributes of Resize; x_scale, x_zero_point (of f32 x
// they count for nothing); to (f32, i8, u8), scale, zero_point.
#include "ops/native/qresize.h"

#include "core/format.h"
#include "ops/definitions.h"
#include "ops/native/epilogue.h"
#include "ops/qdq/quant_layout.h"

namespace octet::native {
namespace {

Result<MapGrid> grid_of(const Node& node, DType type, const char* scale, const char* zero_point) {
  MapGrid grid{.type = type};
  if (!grid.coded()) return grid;
  const CodeRange range = *code_range(type);
  grid.scale = node.attr_float(scale, 1);
  grid.zero = OCTET_TRY(parse_zero_point(node, zero_point, type));
  grid.lo = range.lo;
  grid.hi = range.hi;
  return grid;
}

} // namespace

Result<QResizeGrids> parse_qresize(const Node& node, DType x) {
  if (node.attr_string("mode", "nearest") == "nearest")
    return error("mode nearest moves codes as it moves numbers; use Resize");
  const auto to = static_cast<DType>(node.attr_int("to", static_cast<int64_t>(DType::kFloat32)));
  if (to != DType::kFloat32 && !kCodes.has(to))
    return error("to {}; use f32 (1), i8 (3) or u8 (2)", static_cast<int>(to));
  return QResizeGrids{.x = OCTET_TRY(grid_of(node, x, "x_scale", "x_zero_point")),
                      .y = OCTET_TRY(grid_of(node, to, "scale", "zero_point"))};
}

} // namespace octet::native

namespace octet::native::op_QResize {
namespace {

constexpr TypeSet kInputs{DType::kFloat32, DType::kInt8, DType::kUint8};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 3));
  OCTET_TRY(check_input(c, 0, kInputs));
  const QResizeGrids grids = OCTET_TRY(parse_qresize(c.node, c.input(0).type.type));
  InferContext floats = c;
  floats.inputs[0].type.type = DType::kFloat32;
  std::vector<OutputInfo> out = OCTET_TRY(op_Resize::facets.infer.fn(floats));
  out[0].type.type = grids.y.type;
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const QResizeGrids grids = OCTET_TRY(parse_qresize(c.node, c.inputs[0].type()));
  EvalContext floats = c;
  floats.inputs[0] =
      Tensor::of<float>(c.inputs[0].shape(), OCTET_TRY(read_stored(c.inputs[0], grids.x)));
  const std::vector<Tensor> resized = OCTET_TRY(op_Resize::facets.eval.fn(floats));
  Tensor y = OCTET_TRY(Tensor::zeros(grids.y.type, resized[0].shape()));
  write_stored(resized[0].data<float>(), grids.y, y);
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_QResize
