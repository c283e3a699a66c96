// SPDX-License-Identifier: Apache-2.0
// Geometry of a 2-D convolution over NHWC images, and the gathering of its patches. One-dimensional
// convolutions have height 1.
#pragma once

#include <algorithm>
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

/// Bytes past the end of gathered rows that may be overwritten: short runs are copied as 16 bytes.
constexpr int64_t kGatherSlack = 16;

/// Copies short runs without a call: 16 bytes at a time, the last 16 overlapping.
template <typename T>
inline void copy_run(const T* from, const T* end, int64_t count, T* to) {
  constexpr auto kStep = static_cast<int64_t>(kGatherSlack / sizeof(T));
  if (count > kStep && count <= 8 * kStep) {
    for (int64_t i = 0; i + kStep < count; i += kStep) {
      std::memcpy(to + i, from + i, kGatherSlack);
    }
    std::memcpy(to + count - kStep, from + count - kStep, kGatherSlack);
  } else if (count <= kStep && end - from >= kStep) {
    std::memcpy(to, from, kGatherSlack);
  } else {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  }
}

/// One patch, in the order kernel row, kernel column, channel. `image` and `end` bound x, (x0, y0)
/// is the window's first tap, `pad` stands outside the image.
template <typename T>
void gather_patch(const ConvShape& s,
                  const T* image,
                  const T* end,
                  int64_t y0,
                  int64_t x0,
                  int64_t group,
                  T pad,
                  T* row) {
  const int64_t channels = s.group_in();
  const int64_t run = s.kernel_w * channels;
  for (int64_t i = 0; i < s.kernel_h; ++i, row += run) {
    const int64_t y = y0 + i * s.dilation_h;
    const T* line = image + y * s.in_w * s.in_c + group * channels;
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t x = x0 + j * s.dilation_w;
      T* to = row + j * channels;
      if (y >= 0 && y < s.in_h && x >= 0 && x < s.in_w) {
        copy_run(line + x * s.in_c, end, channels, to);
      } else {
        std::fill_n(to, channels, pad);
      }
    }
  }
}

/// The patches of output pixels [first, first + count) (batch, row, column flattened) in channel
/// group `group`, to rows `stride` apart. Writes k() values of each row and up to kGatherSlack
/// bytes of anything after them, which the next row overwrites.
template <typename T>
void gather_patches(const ConvShape& s,
                    const T* x,
                    int64_t first,
                    int64_t count,
                    int64_t group,
                    T pad,
                    T* rows,
                    int64_t stride) {
  const int64_t image_size = s.in_h * s.in_w * s.in_c;
  const T* end = x + s.batch * image_size;
  const T* image = x + first / (s.out_w * s.out_h) * image_size;
  int64_t out_x = first % s.out_w;
  int64_t out_y = first / s.out_w % s.out_h;
  const int64_t run = s.kernel_w * s.group_in();
  const int64_t line_step = s.dilation_h * s.in_w * s.in_c;
  const bool dense = s.groups == 1 && s.dilation_w == 1;
  for (int64_t p = 0; p < count; ++p, rows += stride) {
    const int64_t x0 = out_x * s.stride_w - s.pad_left;
    const int64_t y0 = out_y * s.stride_h - s.pad_top;
    const bool inside = x0 >= 0 && x0 + s.kernel_w <= s.in_w && y0 >= 0 &&
                        y0 + (s.kernel_h - 1) * s.dilation_h < s.in_h;
    if (dense && inside) {
      const T* line = image + (y0 * s.in_w + x0) * s.in_c;
      T* row = rows;
      for (int64_t i = 0; i < s.kernel_h; ++i, line += line_step, row += run) {
        copy_run(line, end, run, row);
      }
    } else {
      gather_patch(s, image, end, y0, x0, group, pad, rows);
    }
    if (++out_x < s.out_w) continue;
    out_x = 0;
    if (++out_y < s.out_h) continue;
    out_y = 0;
    image += image_size;
  }
}

} // namespace octet::kernels
