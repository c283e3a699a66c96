// SPDX-License-Identifier: Apache-2.0
// Convolution windows read where they lie: with one group the taps of one row of a window are
// contiguous in NHWC, or the channels of each where columns are dilated. Lines of the images are
// copied with their padding, a few output lines at a time, or used in place where there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/buffer.h"
#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/cut.h"

namespace octet::kernels {

/// How the output lines (batch and row flattened) are cut. Depends on shapes alone.
struct LinePlan {
  int64_t pitch = 0;     ///< elements from a line to the next
  int64_t size = 0;      ///< elements of all copied lines of a block, and a few more
  Blocks blocks;         ///< of output lines
  bool in_place = false; ///< windows are read from x itself
  bool whole = false;    ///< copied lines follow one another as in x
};

/// Input lines under `lines` output lines of one image.
inline int64_t lines_under(const ConvShape& s, int64_t lines) {
  return (lines - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
}

/// Blocks of about `pixels` output pixels whose copied lines take at most about `elements`. Lines
/// are `multiple` elements long. `may_read_x`: no element needs to be changed.
inline LinePlan plan_lines(
    const ConvShape& s, int64_t pixels, int64_t elements, int64_t multiple, bool may_read_x) {
  LinePlan plan;
  const int64_t columns = (s.out_w - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
  const bool inside =
      s.pad_left == 0 && s.pad_top == 0 && columns <= s.in_w && lines_under(s, s.out_h) <= s.in_h;
  plan.in_place = inside && may_read_x;
  plan.pitch = plan.in_place ? s.in_w * s.in_c : round_up(columns * s.in_c, multiple);
  plan.whole = s.pad_left == 0 && plan.pitch == s.in_w * s.in_c;
  const int64_t all = s.batch * s.out_h;
  const int64_t one = std::max<int64_t>(lines_under(s, 1) * plan.pitch, 1);
  const int64_t fit = std::clamp<int64_t>(elements / one, 1, all);
  int64_t lines = std::clamp<int64_t>(pixels / s.out_w, 1, fit);
  plan.blocks = even_blocks(all, lines, 1);
  lines = plan.blocks.size;
  const int64_t images = std::min(lines, (lines - 1) / s.out_h + 2);
  plan.size = images * lines_under(s, std::min(lines, s.out_h)) * plan.pitch + multiple;
  return plan;
}

/// Copies elements as they are.
struct CopyElements {
  template <typename T>
  void operator()(const T* from, int64_t count, T* to) const {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  }
};

/// Line `y` of an image with its padding, whose elements `copy` copies.
template <typename T, typename Copy>
void copy_line(
    const ConvShape& s, const T* image, int64_t y, T pad, int64_t pitch, T* to, const Copy& copy) {
  if (y < 0 || y >= s.in_h) {
    std::fill_n(to, pitch, pad);
    return;
  }
  const int64_t left = std::min(s.pad_left * s.in_c, pitch);
  const int64_t inside = std::min(s.in_w * s.in_c, pitch - left);
  std::fill_n(to, left, pad);
  copy(image + y * s.in_w * s.in_c, inside, to + left);
  std::fill_n(to + left + inside, pitch - left - inside, pad);
}

/// Copies what some output lines read to `to` by `copy(from, count, to)`, which may change elements;
/// `pad` is written as it is. Returns the end of it.
template <typename T, typename Copy = CopyElements>
T* copy_lines(const ConvShape& s,
              const LinePlan& plan,
              const T* x,
              Range some,
              T pad,
              T* to,
              const Copy& copy = {}) {
  for (int64_t line = some.begin; line < some.end;) {
    const int64_t image = line / s.out_h;
    const int64_t count = std::min(some.end, (image + 1) * s.out_h) - line;
    const T* from = x + image * s.in_h * s.in_w * s.in_c;
    const int64_t y0 = line % s.out_h * s.stride_h - s.pad_top;
    const int64_t lines = lines_under(s, count);
    if (plan.whole && y0 >= 0 && y0 + lines <= s.in_h) {
      copy(from + y0 * plan.pitch, lines * plan.pitch, to);
    } else {
      for (int64_t i = 0; i < lines; ++i) {
        copy_line(s, from, y0 + i, pad, plan.pitch, to + i * plan.pitch, copy);
      }
    }
    to += lines * plan.pitch;
    line += count;
  }
  return to;
}

/// Calls visit(start of the window) for each pixel of some output lines, in order. `lines` is what
/// copy_lines filled, not used in place.
template <typename T, typename Visit>
void each_window(const ConvShape& s,
                 const LinePlan& plan,
                 const T* x,
                 const T* lines,
                 Range some,
                 Visit&& visit) {
  const int64_t step = s.stride_w * s.in_c;
  for (int64_t line = some.begin; line < some.end;) {
    const int64_t image = line / s.out_h;
    const int64_t count = std::min(some.end, (image + 1) * s.out_h) - line;
    if (plan.in_place) lines = x + (image * s.in_h + line % s.out_h * s.stride_h) * plan.pitch;
    for (int64_t i = 0; i < count; ++i) {
      const T* start = lines + i * s.stride_h * plan.pitch;
      for (int64_t c = 0; c < s.out_w; ++c, start += step) {
        visit(start);
      }
    }
    lines += lines_under(s, count) * plan.pitch;
    line += count;
  }
}

} // namespace octet::kernels
