// SPDX-License-Identifier: Apache-2.0
// Which taps of a convolution's windows lie inside the image, axis by axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/cut.h"

namespace octet::kernels {

/// Taps of the window at `out` that lie inside the image.
inline Range taps_inside(
    int64_t out, int64_t stride, int64_t pad, int64_t dilation, int64_t kernel, int64_t in) {
  const int64_t first = out * stride - pad; // where tap 0 lies
  const int64_t begin = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
  int64_t end = kernel;
  if (first + (kernel - 1) * dilation >= in)
    end = first >= in ? 0 : (in - first + dilation - 1) / dilation;
  return {std::min(begin, end), end};
}

/// One axis of a convolution: sizes of the image, of y and of the window.
struct Axis {
  int64_t in, out, kernel, stride, pad, dilation;

  Range taps(int64_t at) const { return taps_inside(at, stride, pad, dilation, kernel, in); }
  /// The places from `at` on whose windows have the same taps inside the image.
  Range same(int64_t at) const {
    const Range first = taps(at);
    int64_t end = at + 1;
    if (first.count() == kernel) {
      end = std::max(end, (in - 1 + pad - (kernel - 1) * dilation) / stride + 1);
      return {at, std::min(end, out)};
    }
    for (; end < out; ++end) {
      const Range next = taps(end);
      if (next.begin != first.begin || next.end != first.end) break;
    }
    return {at, end};
  }
  bool padded() const { return taps(0).count() < kernel || taps(out - 1).count() < kernel; }
};
inline Axis rows_axis(const ConvShape& s) {
  return {s.in_h, s.out_h, s.kernel_h, s.stride_h, s.pad_top, s.dilation_h};
}
inline Axis columns_axis(const ConvShape& s) {
  return {s.in_w, s.out_w, s.kernel_w, s.stride_w, s.pad_left, s.dilation_w};
}

} // namespace octet::kernels
