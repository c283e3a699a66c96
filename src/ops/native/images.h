// SPDX-License-Identifier: Apache-2.0
// Windows over NHWC images, shared by convolutions and pools of octet.native.
#pragma once

#include "ops/native/epilogue.h"
#include "ops/shared/window.h"

namespace octet::native {

/// The output shape [N, h, w, channels] of windows over x. Errors as window_sizes.
Result<std::vector<Dim>>
image_shape(const WindowAttrs& window, const TypeInfo& x, const Dim& channels);
/// Attributes of a convolution with weights [O, kh, kw, I / group]; nullopt while the kernel's size
/// is unknown. Errors: as parse_window; channels and groups that do not fit.
Result<std::optional<WindowAttrs>>
parse_image_conv(const Node& node, const TypeInfo& x, const TypeInfo& w);
/// Attributes of a pool; with `global`, a kernel of the image's size. nullopt while that is
/// unknown.
Result<std::optional<WindowAttrs>> parse_image_pool(const Node& node, const TypeInfo& x);
/// The output shape of a pool, with `global` one pixel of an image of any size; nullopt while nothing
/// is known of x.
Result<std::optional<std::vector<Dim>>> image_pool_shape(const Node& node, const TypeInfo& x);

/// The geometry of an image [N, H, W, C] for an output [N, h, w, O]: axes 1 and 2 of Window3.
Window3
image_window(const WindowAttrs& window, std::span<const int64_t> x, std::span<const int64_t> y);

/// The exact sums of the windows of codes less their zero point, `x` of the shape of `codes`, times
/// `w` [O, kh, kw, I / group]; padding counts as 0. y: [N, h, w, O].
Result<std::vector<int64_t>> window_sums(const Node& node,
                                         const Tensor& codes,
                                         std::span<const int32_t> x,
                                         const Tensor& w,
                                         std::span<const int64_t> y);

/// Calls tap(kernel position, offset of the pixel's first channel) for each tap of output pixel
/// (h, w) that lies inside the image, in the order (kh, kw); `image` is the offset of the image.
template <class Tap>
void for_each_tap(
    const Window3& g, int64_t image, int64_t channels, int64_t h, int64_t w, Tap tap) {
  for (int64_t i = 0; i < g.kernel[1]; ++i)
    for (int64_t j = 0; j < g.kernel[2]; ++j) {
      const int64_t row = h * g.stride[1] + i * g.dilation[1] - g.pad[1];
      const int64_t column = w * g.stride[2] + j * g.dilation[2] - g.pad[2];
      if (row < 0 || column < 0 || row >= g.in[1] || column >= g.in[2]) continue;
      tap(i * g.kernel[2] + j, image + (row * g.in[2] + column) * channels);
    }
}

/// Calls pixel(image offset in x, h, w) for each output pixel, in order.
template <class Pixel>
void for_each_pixel(const Window3& g, int64_t batch, int64_t channels, Pixel pixel) {
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t h = 0; h < g.out[1]; ++h)
      for (int64_t w = 0; w < g.out[2]; ++w)
        pixel(n * g.in[1] * g.in[2] * channels, h, w);
}

} // namespace octet::native
