// SPDX-License-Identifier: Apache-2.0
// octet.native ConvInteger (1). x: [N, H, W, C] i8/u8, w: [O, kh, kw, C / group] i8, zero point of
// x: one of x's type, known when it runs; omitted: 0. y = exact sum of (x - zero point) * w, i32;
// padding counts as the zero point. Attributes: strides [2], pads [top, left, bottom, right] or
// auto_pad, dilations [2], group. docs/native-operators.md.
#include "core/format.h"
#include "ops/native/images.h"

namespace octet::native::op_ConvInteger {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, {DType::kInt8}));
  OCTET_TRY(check_optional(c, 2, kCodes));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  OCTET_TRY(check_rank(c, 1, 4, 4));
  OCTET_TRY(check_rank(c, 2, 0, 1));
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  const auto window = OCTET_TRY(parse_image_conv(c.node, x, w));
  if (!window) return one(DType::kInt32, std::nullopt);
  return one(DType::kInt32, OCTET_TRY(image_shape(*window, x, (*w.shape)[0])));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  Shape shape = OCTET_TRY(shape_of(outputs[0]));
  auto x = OCTET_TRY(weight_codes(c.inputs[0]));
  if (c.has(2)) {
    const auto zero = OCTET_TRY(weight_codes(c.inputs[2]));
    if (zero.size() != 1) return error("{} zero points for x; give one", zero.size());
    for (int32_t& v : x)
      v -= zero[0];
  }
  const auto sums = OCTET_TRY(window_sums(c.node, c.inputs[0], x, c.inputs[1], shape));
  EpilogueAttrs as_they_are;
  as_they_are.to = DType::kInt32;
  return one(OCTET_TRY(apply_epilogue(as_they_are, {}, sums, std::move(shape))));
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
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::native::op_ConvInteger
