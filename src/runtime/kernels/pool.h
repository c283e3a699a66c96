// SPDX-License-Identifier: Apache-2.0
// Pools over NHWC images. Taps outside the image do not count. Float averages add the taps in the
// order of the window and divide by their number, 1 where there are none; 8-bit averages are exact sums of (x - z_x)
// through numerics::average_quantized. A window of a ConvShape: groups and out_c are not read.
#pragma once

#include <cstdint>

#include "core/cpu.h"
#include "runtime/kernels/conv_shape.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Largest value, where NaN wins and windows that lie wholly outside give the type's lowest; or the
/// average.
enum class PoolOp : uint8_t { kMax, kAverage };
enum class PoolType : uint8_t { kInt8, kUint8, kFloat };
enum class CountPadding : uint8_t { kNo, kYes };

struct PoolArgs {
  ConvShape shape;
  PoolOp op = PoolOp::kMax;
  PoolType type = PoolType::kFloat;
  const void* x = nullptr; ///< [batch, in_h, in_w, in_c]
  void* y = nullptr;       ///< [batch, out_h, out_w, in_c]
  // Averages:
  /// Whether taps in the padding count; rows and columns up to these, from those of x on, are it.
  CountPadding count_padding = CountPadding::kNo;
  int64_t padded_h = 0, padded_w = 0;
  // 8-bit averages:
  double x_scale = 1.0;
  double y_scale = 1.0;
  int32_t x_zero_point = 0;
  int32_t zero_point = 0;
  int32_t lo = -128;
  int32_t hi = 127;
  bool y_signed = true;
};

void run_pool(const PoolArgs& args, Isa isa, ParallelFor& parallel);

/// The taps of one output pixel: offsets of their first channels in x, in the order of the window.
struct Window {
  const int64_t* at = nullptr;
  int64_t count = 0;
  int64_t divisor = 1;
};

/// All channels of one output pixel.
using PoolPixelFn = void (*)(const PoolArgs& args, const Window& window, int64_t pixel);

/// What an instruction set supplies: a kernel for each PoolOp and PoolType.
struct PoolKernels {
  PoolPixelFn max_int8;
  PoolPixelFn max_uint8;
  PoolPixelFn max_float;
  PoolPixelFn average_int8;
  PoolPixelFn average_uint8;
  PoolPixelFn average_float;
};
PoolKernels pool_kernels_scalar();
PoolKernels pool_kernels_avx2();
PoolKernels pool_kernels_avx512();

} // namespace octet::kernels
