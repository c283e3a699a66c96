// SPDX-License-Identifier: Apache-2.0
// What Conv, ConvInteger and QLinearConv share: attributes, shapes and the reference loop.
// x: [N, C, D...], w: [O, C / group, k...], y: [N, O, d...]; one to three spatial axes.
#pragma once

#include <algorithm>

#include "ops/shared/window.h"

namespace octet {

struct ConvAttrs {
  WindowAttrs window;
  int64_t group = 1;
};

/// Attributes of a convolution whose weights have this type; nullopt while the kernel's size is
/// unknown. Errors: as parse_window, a kernel_shape that is not the weights'.
Result<std::optional<ConvAttrs>> parse_conv(const Node& node, const TypeInfo& weight);
/// The output shape, unknown dims where nothing is known. Errors: ranks, channels or groups that do
/// not fit.
Result<std::optional<std::vector<Dim>>>
conv_shape(const Node& node, const TypeInfo& x, const TypeInfo& weight);

/// Sizes of one convolution.
struct ConvSizes {
  int64_t batch, in_channels, out_channels, group;
  Window3 window;
};
/// For shapes that conv_shape accepted.
Result<ConvSizes> conv_sizes(const Node& node,
                             std::span<const int64_t> x,
                             std::span<const int64_t> w,
                             std::span<const int64_t> y);

/// y[0, count) += x[i * stride] * w. The innermost loop of the reference convolutions.
template <class T>
void add_scaled_row(const T* x, int64_t stride, T w, int64_t count, T* y) {
  if (stride == 1)
    for (int64_t i = 0; i < count; ++i)
      y[i] += x[i] * w;
  else
    for (int64_t i = 0; i < count; ++i)
      y[i] += x[i * stride] * w;
}

/// Adds one input plane convolved with one kernel plane to an output plane.
template <class T>
void convolve_plane(const Window3& g, const T* x, const T* w, T* y) {
  for (int64_t a = 0; a < g.kernel[0]; ++a)
    for (int64_t b = 0; b < g.kernel[1]; ++b)
      for (int64_t c = 0; c < g.kernel[2]; ++c, ++w) {
        // Output columns whose tap lies inside the row: first <= column < last.
        const int64_t shift = c * g.dilation[2] - g.pad[2];
        const int64_t first = shift >= 0 ? 0 : (-shift + g.stride[2] - 1) / g.stride[2];
        const int64_t room = g.in[2] - shift;
        const int64_t last =
            room <= 0 ? 0 : std::min(g.out[2], (room + g.stride[2] - 1) / g.stride[2]);
        if (first >= last) continue;
        for (int64_t d = 0; d < g.out[0]; ++d) {
          const int64_t in_d = d * g.stride[0] + a * g.dilation[0] - g.pad[0];
          if (in_d < 0 || in_d >= g.in[0]) continue;
          for (int64_t h = 0; h < g.out[1]; ++h) {
            const int64_t in_h = h * g.stride[1] + b * g.dilation[1] - g.pad[1];
            if (in_h < 0 || in_h >= g.in[1]) continue;
            add_scaled_row(x + (in_d * g.in[1] + in_h) * g.in[2] + first * g.stride[2] + shift,
                           g.stride[2], *w, last - first,
                           y + (d * g.out[1] + h) * g.out[2] + first);
          }
        }
      }
}

/// y += x * w for a whole batch; T accumulates exactly (int64) or in double.
template <class T>
void convolve(const ConvSizes& s, const T* x, const T* w, T* y) {
  const int64_t in = s.window.in_count(), out = s.window.out_count(),
                taps = s.window.kernel_count();
  const int64_t group_in = s.in_channels / s.group, group_out = s.out_channels / s.group;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t i = 0; i < group_in; ++i)
        convolve_plane(s.window, x + (n * s.in_channels + o / group_out * group_in + i) * in,
                       w + (o * group_in + i) * taps, y + (n * s.out_channels + o) * out);
}

} // namespace octet
