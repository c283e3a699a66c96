// SPDX-License-Identifier: Apache-2.0
// Float transposed convolution over NHWC: along each axis, tap t of output o takes input
// (o + pad - t * dilation) / stride where that is whole and inside the image. Each sum is one chain
// of fused multiply-adds from 0 over the taps that hit, in the order kernel row, kernel column,
// channel; then bias and clamp as in sgemm.h. Outputs of one remainder of (o + pad) by the stride
// have the same taps: each such phase is a convolution of its own.
#pragma once

#include <vector>

#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/sgemm.h"

namespace octet::kernels {

/// The taps of one remainder along an axis.
struct PhaseAxis {
  std::vector<int64_t> taps;
  std::vector<int64_t> back; ///< by how many elements of x each lies before (o + pad) / stride
};

struct PackedTransposedConv {
  ConvShape shape;                      ///< batch, image sizes and pads may differ when it runs
  std::vector<PhaseAxis> rows, columns; ///< [stride_h], [stride_w]
  std::vector<PackedFloat> weights;     ///< [stride_h][stride_w][groups]
};

/// Packs w[out_c, kernel_h, kernel_w, in_c / groups], all of which must be finite: the chain meets
/// zeros in the place of taps outside the image.
PackedTransposedConv pack_transposed_conv(const float* w, const ConvShape& shape, Isa isa);

struct TransposedConvArgs {
  ConvShape shape;
  const float* x = nullptr; ///< [batch, in_h, in_w, in_c]
  const PackedTransposedConv* w = nullptr;
  FloatEpilogue epilogue; ///< bias over out_c
  float* y = nullptr;     ///< [batch, out_h, out_w, out_c]
};
void transposed_conv(const TransposedConvArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
