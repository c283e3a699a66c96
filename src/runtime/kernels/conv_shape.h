// SPDX-License-Identifier: Apache-2.0
// Geometry of a 2-D convolution over NHWC images, and the gathering of one patch. One-dimensional
// convolutions have height 1.
#pragma once

#include <cstdint>
#include <cstring>

namespace octet::kernels {

struct ConvShape {
  int64_t batch = 1;
  int64_t in_h = 1, in_w = 1, in_c = 1;
  int64_t out_h = 1, out_w = 1, out_c = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;

  int64_t group_in() const { return in_c / groups; }
  int64_t group_out() const { return out_c / groups; }
  int64_t pixels() const { return batch * out_h * out_w; }
  /// Length of one output's sum.
  int64_t k() const { return kernel_h * kernel_w * group_in(); }
  bool depthwise() const { return groups == in_c && groups == out_c && groups > 1; }
};

/// Bytes past the end of a gathered row that may be overwritten: short runs are copied as 16 bytes.
constexpr int64_t kGatherSlack = 16;

template <typename T>
void copy_run(const T* from, const T* end, int64_t count, T* to) {
  constexpr auto kShort = static_cast<int64_t>(kGatherSlack / sizeof(T));
  if (count <= kShort && end - from >= kShort) {
    std::memcpy(to, from, kGatherSlack);
  } else {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  }
}

/// The patch of output pixel `pixel` (batch, row, column flattened) in channel group `group`, in
/// the order kernel row, kernel column, channel; `pad` stands outside the image. Writes k() values
/// and up to kGatherSlack bytes of anything after them.
template <typename T>
void gather_patch(const ConvShape& s, const T* x, int64_t pixel, int64_t group, T pad, T* row) {
  const int64_t channels = s.group_in();
  const int64_t out_x = pixel % s.out_w;
  const int64_t out_y = pixel / s.out_w % s.out_h;
  const int64_t image = pixel / s.out_w / s.out_h;
  const int64_t x0 = out_x * s.stride_w - s.pad_left;
  const int64_t y0 = out_y * s.stride_h - s.pad_top;
  const T* end = x + s.batch * s.in_h * s.in_w * s.in_c;
  const bool inside = x0 >= 0 && x0 + (s.kernel_w - 1) * s.dilation_w < s.in_w;
  const bool contiguous = inside && s.groups == 1 && s.dilation_w == 1;
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    const int64_t y = y0 + i * s.dilation_h;
    if (y < 0 || y >= s.in_h) {
      for (int64_t c = 0; c < s.kernel_w * channels; ++c) {
        *row++ = pad;
      }
      continue;
    }
    const T* line = x + (image * s.in_h + y) * s.in_w * s.in_c + group * channels;
    if (contiguous) {
      copy_run(line + x0 * s.in_c, end, s.kernel_w * channels, row);
      row += s.kernel_w * channels;
      continue;
    }
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t at = x0 + j * s.dilation_w;
      if (at >= 0 && at < s.in_w) {
        copy_run(line + at * s.in_c, end, channels, row);
      } else {
        for (int64_t c = 0; c < channels; ++c) {
          row[c] = pad;
        }
      }
      row += channels;
    }
  }
}

} // namespace octet::kernels
