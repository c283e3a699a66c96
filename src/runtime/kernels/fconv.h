// SPDX-License-Identifier: Apache-2.0
// Float convolution over NHWC: y[b, oh, ow, co] = clamp(sum over kh, kw, ci of x * w + bias). Each
// sum is one chain of fused multiply-adds from 0 in the order kernel row, kernel column, channel;
// taps outside the image are skipped; then bias and clamp as in sgemm.h.
#pragma once

#include <vector>

#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/narrow_conv.h"
#include "runtime/kernels/sgemm.h"

namespace octet::kernels {

struct PackedFloatConv {
  ConvShape shape;                 ///< batch and image sizes may differ when it runs
  NarrowWeights narrow;            ///< without lanes where the groups are not
  std::vector<PackedFloat> groups; ///< of others
  bool finite = true;              ///< products with 0 add nothing
};

/// Packs w[out_c, kernel_h, kernel_w, in_c / groups].
PackedFloatConv pack_float_conv(const float* w, const ConvShape& shape, Isa isa);

struct FconvArgs {
  ConvShape shape;
  const float* x = nullptr; ///< [batch, in_h, in_w, in_c]
  const PackedFloatConv* w = nullptr;
  FloatEpilogue epilogue; ///< bias over out_c
  float* y = nullptr;     ///< [batch, out_h, out_w, out_c]
};

void fconv(const FconvArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
