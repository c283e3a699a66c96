// SPDX-License-Identifier: Apache-2.0
// What MaxPool, AveragePool and LpPool share. x: [N, C, D...], one to three spatial axes.
#pragma once

#include "ops/shared/window.h"

namespace octet {

/// The output shape; nullopt when the rank of x is unknown. Errors: a rank without spatial axes or
/// with more than three, attributes that do not fit.
Result<std::optional<std::vector<Dim>>> pool_shape(const Node& node, const TypeInfo& x);
/// For shapes that pool_shape gave.
Result<Window3>
pool_window(const Node& node, std::span<const int64_t> x, std::span<const int64_t> y);

/// Calls tap(offset in the input plane) for each tap of output (d, h, w) inside the input.
template <class Tap>
void for_each_tap(const Window3& g, int64_t d, int64_t h, int64_t w, Tap tap) {
  for (int64_t a = 0; a < g.kernel[0]; ++a)
    for (int64_t b = 0; b < g.kernel[1]; ++b)
      for (int64_t c = 0; c < g.kernel[2]; ++c) {
        const int64_t i = d * g.stride[0] + a * g.dilation[0] - g.pad[0];
        const int64_t j = h * g.stride[1] + b * g.dilation[1] - g.pad[1];
        const int64_t k = w * g.stride[2] + c * g.dilation[2] - g.pad[2];
        if (i < 0 || j < 0 || k < 0 || i >= g.in[0] || j >= g.in[1] || k >= g.in[2]) continue;
        tap((i * g.in[1] + j) * g.in[2] + k);
      }
}

/// A row-major offset in the input plane as the column-major one.
inline int64_t column_major(const Window3& g, int64_t offset) {
  const int64_t w = offset % g.in[2], h = offset / g.in[2] % g.in[1],
                d = offset / g.in[2] / g.in[1];
  return (w * g.in[1] + h) * g.in[0] + d;
}

/// Taps of output (d, h, w) inside the input and its declared padding.
int64_t padded_taps(const Window3& g, int64_t d, int64_t h, int64_t w);

/// y[i] = pool(first element of the plane, d, h, w) for each element of each plane, in order.
template <class Pool>
void pool_planes(const Window3& g, int64_t planes, double* y, Pool pool) {
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t d = 0; d < g.out[0]; ++d)
      for (int64_t h = 0; h < g.out[1]; ++h)
        for (int64_t w = 0; w < g.out[2]; ++w)
          *y++ = pool(p * g.in_count(), d, h, w);
}

/// The average of each window of each plane: the sum of its taps inside x over their number, or
/// over padded_taps where padding counts; 0 of a window without any, as in ONNX Runtime. One
/// element for each element of the output.
std::vector<double>
average_planes(const Window3& g, int64_t planes, const std::vector<double>& x, bool count_padding);

} // namespace octet
