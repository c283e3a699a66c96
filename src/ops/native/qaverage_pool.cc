// SPDX-License-Identifier: Apache-2.0
// octet.native QAveragePool (1). x: [N, H, W, C] i8/u8. Attributes: kernel_shape [2], strides,
// pads, auto_pad, ceil_mode, dilations, count_include_pad, global, x_zero_point, x_scale, y_scale,
// y_zero_point, to, lo, hi; n as of AveragePool. y = sat(rne(float(sum of (x - z_x)) * float(x_scale / (n * y_scale))) + z), the quotient in
// double.
#include <algorithm>

#include "core/format.h"
#include "core/numerics/epilogue.h"
#include "ops/native/images.h"
#include "ops/shared/pooling.h"

namespace octet::native::op_QAveragePool {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  const auto a = OCTET_TRY(parse_epilogue(c.node));
  if (!kCodes.has(a.to)) return error("to {}; use i8 (3) or u8 (2)", static_cast<int>(a.to));
  const TypeInfo& x = c.input(0).type;
  OCTET_TRY(parse_zero_point(c.node, "x_zero_point", x.type));
  return one(a.to, OCTET_TRY(image_pool_shape(c.node, x)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const Tensor& xt = c.inputs[0];
  const auto a = OCTET_TRY(parse_epilogue(c.node));
  const auto x = OCTET_TRY(centered_codes(c.node, "x_zero_point", xt));
  const auto attrs = OCTET_TRY(parse_image_pool(c.node, tensor_type(xt.type(), xt.shape())));
  const Window3 g = image_window(*attrs, xt.shape(), y.shape());
  const bool count_padding = c.node.attr_int("count_include_pad", 0) != 0;
  const double x_scale = c.node.attr_float("x_scale", 1), y_scale = c.node.attr_float("y_scale", 1);
  const int64_t channels = xt.dim(3);
  std::vector<int32_t> sums(static_cast<size_t>(channels));
  auto* out = y.mutable_bytes().data();
  for_each_pixel(g, xt.dim(0), channels, [&](int64_t image, int64_t h, int64_t w) {
    std::fill(sums.begin(), sums.end(), 0);
    int64_t n = 0;
    for_each_tap(g, image, channels, h, w, [&](int64_t, int64_t pixel) {
      ++n;
      for (int64_t k = 0; k < channels; ++k)
        sums[static_cast<size_t>(k)] += x[static_cast<size_t>(pixel + k)];
    });
    if (count_padding) n = padded_taps(g, 0, h, w);
    n = std::max<int64_t>(n, 1);
    const auto m = static_cast<float>(x_scale / (static_cast<double>(n) * y_scale));
    for (int32_t sum : sums)
      *out++ = static_cast<std::byte>(numerics::average_quantized(sum, m, a.zero, a.lo, a.hi));
  });
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
    .facts = Facts{.on_codes = true},
};

} // namespace octet::native::op_QAveragePool
