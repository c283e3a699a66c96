// SPDX-License-Identifier: Apache-2.0
// Chunks, windows, dispatch and scalar form of the pools.
#include "runtime/kernels/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/for_isa.h"
#include "core/numerics/epilogue.h"
#include "core/numerics/reduce.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"

namespace octet::kernels {
namespace {

constexpr double kTapNs = 0.3;

PoolPixelFn kernel_of(const PoolArgs& args, Isa isa) {
  const PoolKernels kernels = for_isa<pool_kernels_scalar, Isa::kAvx2, pool_kernels_avx2,
                                      Isa::kAvx512, pool_kernels_avx512>(isa)();
  const bool max = args.op == PoolOp::kMax;
  switch (args.type) {
  case PoolType::kInt8:
    return max ? kernels.max_int8 : kernels.average_int8;
  case PoolType::kUint8:
    return max ? kernels.max_uint8 : kernels.average_uint8;
  case PoolType::kFloat:
    break;
  }
  return max ? kernels.max_float : kernels.average_float;
}

/// Taps of one axis that lie before `end`; the first lies at `first`.
int64_t taps_before(int64_t first, int64_t dilation, int64_t kernel, int64_t end) {
  return first >= end ? 0 : std::min((end - first + dilation - 1) / dilation, kernel);
}

Window find_window(const PoolArgs& args, int64_t pixel, int64_t* at) {
  const ConvShape& s = args.shape;
  const int64_t y0 = pixel / s.out_w % s.out_h * s.stride_h - s.pad_top;
  const int64_t x0 = pixel % s.out_w * s.stride_w - s.pad_left;
  const int64_t image = pixel / s.out_w / s.out_h * s.in_h;
  Window window{.at = at};
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    const int64_t y = y0 + i * s.dilation_h;
    if (y < 0 || y >= s.in_h) continue;
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t x = x0 + j * s.dilation_w;
      if (x >= 0 && x < s.in_w) at[window.count++] = ((image + y) * s.in_w + x) * s.in_c;
    }
  }
  const int64_t taps = args.count_padding == CountPadding::kNo
                           ? window.count
                           : taps_before(y0, s.dilation_h, s.kernel_h, args.padded_h) *
                                 taps_before(x0, s.dilation_w, s.kernel_w, args.padded_w);
  window.divisor = std::max<int64_t>(taps, 1);
  return window;
}

template <typename T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(v);
  return false;
}

template <typename T>
void max_of(const PoolArgs& args, const Window& window, int64_t pixel) {
  using Limits = std::numeric_limits<T>;
  constexpr T kLowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const int64_t channels = args.shape.in_c;
  const auto* x = static_cast<const T*>(args.x);
  T* y = static_cast<T*>(args.y) + pixel * channels;
  for (int64_t c = 0; c < channels; ++c) {
    T best = kLowest;
    for (int64_t t = 0; t < window.count; ++t) {
      const T v = x[window.at[t] + c];
      best = best > v || is_nan(best) ? best : v;
    }
    y[c] = best;
  }
}

template <typename T>
void average_codes(const PoolArgs& args, const Window& window, int64_t pixel) {
  const int64_t channels = args.shape.in_c;
  const auto* x = static_cast<const T*>(args.x);
  auto* y = static_cast<uint8_t*>(args.y) + pixel * channels;
  const auto m =
      static_cast<float>(args.x_scale / (static_cast<double>(window.divisor) * args.y_scale));
  for (int64_t c = 0; c < channels; ++c) {
    int32_t sum = 0;
    for (int64_t t = 0; t < window.count; ++t) {
      sum += x[window.at[t] + c] - args.x_zero_point;
    }
    y[c] = static_cast<uint8_t>(
        numerics::average_quantized(sum, m, args.zero_point, args.lo, args.hi));
  }
}

void average_floats(const PoolArgs& args, const Window& window, int64_t pixel) {
  const int64_t channels = args.shape.in_c;
  const auto* x = static_cast<const float*>(args.x);
  float* y = static_cast<float*>(args.y) + pixel * channels;
  for (int64_t c = 0; c < channels; ++c) {
    float sum = 0.0F;
    for (int64_t t = 0; t < window.count; ++t) {
      sum += x[window.at[t] + c];
    }
    y[c] = sum / static_cast<float>(window.divisor);
  }
}

} // namespace

PoolKernels pool_kernels_scalar() {
  return {.max_int8 = max_of<int8_t>,
          .max_uint8 = max_of<uint8_t>,
          .max_float = max_of<float>,
          .average_int8 = average_codes<int8_t>,
          .average_uint8 = average_codes<uint8_t>,
          .average_float = average_floats};
}

void run_pool(const PoolArgs& args, Isa isa, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  const PoolPixelFn kernel = kernel_of(args, isa);
  const int64_t taps = s.kernel_h * s.kernel_w;
  const int64_t grain = grain_for(kTapNs * static_cast<double>(taps * s.in_c));
  parallel.run(s.pixels(), grain, [&](int64_t begin, int64_t end) {
    auto* at = reinterpret_cast<int64_t*>(
        chunk_scratch(Scratch::kTile, static_cast<size_t>(taps) * sizeof(int64_t)));
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      kernel(args, find_window(args, pixel, at), pixel);
    }
  });
}

} // namespace octet::kernels
