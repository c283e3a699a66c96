// SPDX-License-Identifier: Apache-2.0
// int8 convolution over NHWC, any kernel, stride, padding, dilation and groups:
// y[b, oh, ow, co] = epilogue(sum over kh, kw, ci of (x - z_x) * w). Outside the image x is z_x.
// Sums are exact in int32; contract, ranges and epilogues as in igemm.h. No image is unrolled:
// windows are read where they lie, or gathered a few at a time (groups). Depthwise
// layers have a kernel of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/igemm.h"

namespace octet::kernels {

/// Weights of a depthwise layer. In blocks as depthwise.h has them, or for scalar as they came.
struct DepthwiseWeights {
  int64_t taps = 0;
  AlignedBuffer data;
  int64_t blocks = 0;       ///< after which they repeat
  bool whole_lines = false; ///< they repeat along a line; else each pixel starts at block 0
  AlignedBuffer shift;      ///< int32 [channels], what reading x as unsigned adds to the sums
  AlignedBuffer channels;   ///< int32 [blocks][elements], the channel of each place
};

/// Where the 4 bytes of a group of weights lie from the window's first byte: `column` bytes into
/// row `row` of the window.
struct WindowGroup {
  int32_t row = 0;
  int32_t column = 0;
};

/// What lies beside each other under a window of one group: its row, or each of the row's taps where
/// columns are dilated. Weights of a run are padded to a multiple of 4.
struct WindowRuns {
  int64_t of_row = 1; ///< in a window's row
  int64_t bytes = 0;  ///< of one
  int64_t step = 0;   ///< from one to the next

  explicit WindowRuns(const ConvShape& s)
      : of_row(s.dilation_w == 1 ? 1 : std::max<int64_t>(s.kernel_w, 1)),
        bytes(s.kernel_w / of_row * s.in_c), step(std::max<int64_t>(s.dilation_w * s.in_c, 1)) {}
  int64_t padded() const { return round_up(bytes, 4); }
  /// Whether 4 bytes of a run begin so many bytes into the row.
  bool has(int64_t column) const {
    if (column < 0) return false;
    for (int64_t i = std::min(column / step, of_row - 1); i >= 0; --i) {
      const int64_t at = column - i * step;
      if (at >= padded()) return false;
      if (at % 4 == 0) return true;
    }
    return false;
  }
};

struct PackedConv {
  Isa isa = Isa::kScalar;
  ConvShape shape; ///< batch and image sizes may differ when it runs
  XRange x;
  std::vector<PackedWeights> groups; ///< one a group; for depthwise one, which only holds sums
  DepthwiseWeights depthwise;
  bool is_depthwise = false;
  std::vector<WindowGroup> window; ///< of groups[0]; empty where patches are gathered
  /// int32 [kernel_h * kernel_w][out_c, padded to panels], sums of a tap's weights: what leaving it
  /// out takes from the sums of y. With `window`, where tiles take runs of groups.
  AlignedBuffer tap_sums;
  /// int16 [panels of out_c][16 places][channels / 2][16 columns][2], transformed weights
  /// (winograd.h); `groups` holds the sums alone then. Empty where windows are multiplied.
  AlignedBuffer winograd;
};

/// Packs w[out_c, kernel_h, kernel_w, in_c / groups]. `x` holds z_x as well where windows leave the
/// image.
PackedConv pack_conv(const int8_t* w, const ConvShape& shape, XRange x, Isa isa);

/// Columns for each group of `conv.groups`; n is out_c.
std::vector<IgemmColumns> make_conv_columns(const PackedConv& conv, const ColumnArgs& args);

struct IconvArgs {
  ConvShape shape;
  const void* x = nullptr; ///< [batch, in_h, in_w, in_c], 8-bit
  int32_t x_zero_point = 0;
  const PackedConv* w = nullptr;
  const IgemmColumns* columns = nullptr; ///< as many as w->groups
  Epilogue epilogue; ///< a residual has y's shape; residual_stride is out_c; no row_multiplier
  void* y = nullptr; ///< [batch, out_h, out_w, out_c]
  std::byte* shared = nullptr; ///< shared_bytes() aligned to 64
};

/// Memory that the threads of one convolution share; `args` need no addresses of data.
size_t shared_bytes(const IconvArgs& args);

void iconv(const IconvArgs& args, ParallelFor& parallel);

/// Part of iconv for packed.window: lines of the images are copied with their padding, and windows
/// are read where they lie.
void iconv_direct(const IconvArgs& args, ParallelFor& parallel);
/// Fills packed.groups and packed.window, if the shape allows it.
bool pack_direct(const int8_t* w, PackedConv& packed);

/// Depthwise part of iconv, which specifies that of depthwise.h: output pixels [begin, end).
void depthwise_scalar(const IconvArgs& args, int64_t begin, int64_t end);

} // namespace octet::kernels
