// SPDX-License-Identifier: Apache-2.0
// octet.native QConv (1). x: [N, H, W, C] i8/u8, w: [O, kh, kw, C / group] i8; multiplier, bias and
// residual as QGemm. Padding counts as the zero point of x, that is as the number 0.
// Attributes: x_zero_point, strides [2], pads [top, left, bottom, right], dilations [2], group and
// those of the epilogue. docs/native-operators.md, docs/numerics.md.
#include "ops/native/images.h"

namespace octet::native::op_QConv {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 5));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, {DType::kInt8}));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  OCTET_TRY(check_rank(c, 1, 4, 4));
  const auto a = OCTET_TRY(parse_epilogue(c.node));
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  OCTET_TRY(parse_zero_point(c.node, "x_zero_point", x.type));
  const auto window = OCTET_TRY(parse_image_conv(c.node, x, w));
  if (!window) return one(a.to, std::nullopt);
  auto shape = OCTET_TRY(image_shape(*window, x, (*w.shape)[0]));
  OCTET_TRY(check_epilogue_inputs(c, a, shape));
  return one(a.to, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const Tensor& xt = c.inputs[0];
  const auto epilogue = OCTET_TRY(parse_epilogue(c.node));
  const auto x = OCTET_TRY(centered_codes(c.node, "x_zero_point", xt));
  const auto sums = OCTET_TRY(window_sums(c.node, xt, x, c.inputs[1], shape));
  const EpilogueInputs in{.multiplier = &c.inputs[2],
                          .bias = c.has(3) ? &c.inputs[3] : nullptr,
                          .residual = c.has(4) ? &c.inputs[4] : nullptr};
  return one(OCTET_TRY(apply_epilogue(epilogue, in, sums, std::move(shape))));
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

} // namespace octet::native::op_QConv
