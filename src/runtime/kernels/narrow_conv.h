// SPDX-License-Identifier: Apache-2.0
// Float convolution of groups that are narrower than a vector, depthwise ones among them: lanes are
// the output channels of several groups, which take their inputs from one vector of x. Arithmetic as
// in fconv.h; taps outside the image are skipped, whatever the weights are.
#pragma once

#include "core/cpu.h"
#include "runtime/kernels/conv_axis.h"
#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/cut.h"
#include "runtime/kernels/sgemm.h"

namespace octet::kernels {

/// Weights in panels of whole groups.
struct NarrowWeights {
  Isa isa = Isa::kScalar;
  int64_t lanes = 0;   ///< of a vector; 0: the groups are not narrow
  int64_t outputs = 0; ///< channels of y of a panel
  int64_t inputs = 0;  ///< channels of x that it reads, at most `lanes`
  int64_t panels = 0;
  AlignedBuffer data;  ///< [panel][kernel_h][kernel_w][group_in][lanes], padded with 0
  AlignedBuffer index; ///< i32 [group_in][lanes]: which input of its panel a lane multiplies
};

/// Packs w[out_c, kernel_h, kernel_w, group_in] where vectors of `isa` would be filled at least
/// half; else `lanes` is 0.
NarrowWeights pack_narrow(const float* w, const ConvShape& shape, Isa isa);

struct NarrowConvArgs {
  ConvShape shape;
  const float* x = nullptr; ///< [batch, in_h, in_w, in_c]
  const NarrowWeights* w = nullptr;
  FloatEpilogue epilogue; ///< bias over out_c
  float* y = nullptr;     ///< [batch, out_h, out_w, out_c]
};
void narrow_conv(const NarrowConvArgs& args, ParallelFor& parallel);

/// A line of y over a range of panels: what an instruction set supplies.
struct NarrowLine {
  const ConvShape* shape = nullptr;
  const NarrowWeights* w = nullptr;
  FloatEpilogue epilogue;
  Range panels;
  Range taps_h; ///< rows of the window that lie inside the image
  /// Row 0 of the window, inside the image or not, column 0 of the image, first channel of the
  /// first panel.
  const float* x = nullptr;
  float* y = nullptr; ///< first pixel of the line, channel 0

  /// Elements of x between the rows of the window.
  int64_t row() const { return shape->dilation_h * shape->in_w * shape->in_c; }
};
using NarrowLineFn = void (*)(const NarrowLine& line);
void narrow_line_scalar(const NarrowLine& line);
void narrow_line_avx2(const NarrowLine& line);
void narrow_line_avx512(const NarrowLine& line);

} // namespace octet::kernels
