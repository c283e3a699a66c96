// SPDX-License-Identifier: Apache-2.0
// octet.native AveragePool (1). x: [N, H, W, C] f32. Attributes: kernel_shape [2], strides, pads,
// auto_pad, ceil_mode, dilations, count_include_pad, global. From 0, one float addition for each tap
// inside the image in the order (kh, kw), then one division by their count, with count_include_pad
// by that of the taps inside the image and its padding, by 1 where there are none.
// docs/native-operators.md.
#include <algorithm>

#include "ops/native/images.h"
#include "ops/shared/pooling.h"

namespace octet::native::op_AveragePool {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kF32));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  const TypeInfo& x = c.input(0).type;
  return one(DType::kFloat32, OCTET_TRY(image_pool_shape(c.node, x)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const Tensor xt = c.inputs[0].aligned();
  const auto attrs = OCTET_TRY(parse_image_pool(c.node, tensor_type(xt.type(), xt.shape())));
  const Window3 g = image_window(*attrs, xt.shape(), y.shape());
  const bool count_padding = c.node.attr_int("count_include_pad", 0) != 0;
  const auto x = xt.data<float>();
  const int64_t channels = xt.dim(3);
  float* out = y.mutable_data<float>().data();
  for_each_pixel(g, xt.dim(0), channels, [&](int64_t image, int64_t h, int64_t w) {
    int64_t n = 0;
    for_each_tap(g, image, channels, h, w, [&](int64_t, int64_t pixel) {
      ++n;
      for (int64_t k = 0; k < channels; ++k)
        out[k] += x[static_cast<size_t>(pixel + k)];
    });
    if (count_padding) n = padded_taps(g, 0, h, w);
    n = std::max<int64_t>(n, 1);
    for (int64_t k = 0; k < channels; ++k)
      out[k] /= static_cast<float>(n);
    out += channels;
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
    .facts = kNoFacts,
};

} // namespace octet::native::op_AveragePool
