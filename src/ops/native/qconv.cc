// SPDX-License-Identifier: Apache-2.0
// octet.native QConv (1). x: [N, H, W, C] i8/u8, w: [O, kh, kw, C / group] i8; multiplier, bias and
// residual as QGemm. Padding counts as the zero point of x, that is as the number 0.
// Attributes: x_zero_point, strides [2], pads [top, left, bottom, right], dilations [2], group and
// those of the epilogue. docs/native-operators.md, docs/numerics.md.
#include <algorithm>

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
  const Tensor &xt = c.inputs[0], &wt = c.inputs[1];
  const auto epilogue = OCTET_TRY(parse_epilogue(c.node));
  const auto x = OCTET_TRY(centered_codes(c.node, "x_zero_point", xt));
  const auto w = OCTET_TRY(weight_codes(wt));
  const auto attrs = OCTET_TRY(parse_image_conv(c.node, tensor_type(xt.type(), xt.shape()),
                                                tensor_type(wt.type(), wt.shape())));
  const Window3 g = image_window(*attrs, xt.shape(), shape);
  const int64_t channels = xt.dim(3), per = wt.dim(3), out = wt.dim(0),
                group_out = out / c.node.attr_int("group", 1), taps = g.kernel_count();
  std::vector<int64_t> sums(static_cast<size_t>(OCTET_TRY(element_count(shape))));
  // The taps of a pixel side by side, group by group; those in the padding stay 0.
  std::vector<int32_t> patch(static_cast<size_t>(taps * channels));
  int64_t* y = sums.data();
  for_each_pixel(g, xt.dim(0), channels, [&](int64_t image, int64_t h, int64_t v) {
    std::fill(patch.begin(), patch.end(), 0);
    for_each_tap(g, image, channels, h, v, [&](int64_t tap, int64_t pixel) {
      for (int64_t first = 0; first < channels; first += per)
        std::copy_n(x.begin() + pixel + first, per, patch.begin() + first * taps + tap * per);
    });
    for (int64_t o = 0; o < out; ++o)
      y[o] = dot(patch.data() + o / group_out * taps * per, w.data() + o * taps * per, taps * per);
    y += out;
  });
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
