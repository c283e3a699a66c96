// SPDX-License-Identifier: Apache-2.0
// Vector form of the pools: lanes are channels.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pool_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/pool.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kStep = static_cast<int64_t>(kLanesF);

// Calls body(channel, count) for vectors of channels.
template <typename Body>
HWY_INLINE void each_vector(int64_t channels, Body&& body) {
  int64_t c = 0;
  for (; c + kStep <= channels; c += kStep) {
    body(c, kStep);
  }
  if (c < channels) body(c, channels - c);
}

HWY_INLINE VecF load(const float* p, int64_t count) {
  return count == kStep ? hn::LoadU(F32(), p) : load_some(p, count);
}

HWY_INLINE void store(VecF v, float* p, int64_t count) {
  if (count == kStep) {
    hn::StoreU(v, F32(), p);
  } else {
    store_some(v, p, count);
  }
}

template <typename T>
HWY_INLINE VecI load(const T* p, int64_t count) {
  return count == kStep ? load_codes(p) : load_some_codes(p, count);
}

template <typename T>
HWY_INLINE void store(VecI v, T* p, int64_t count) {
  if (count == kStep) {
    store_codes(v, p);
  } else {
    store_some_codes(v, p, count);
  }
}

template <typename T>
void max_codes(const PoolArgs& args, const Window& window, int64_t pixel) {
  const auto* x = static_cast<const T*>(args.x);
  T* y = static_cast<T*>(args.y) + pixel * args.shape.in_c;
  each_vector(args.shape.in_c, [&](int64_t c, int64_t count) HWY_ATTR {
    VecI best = hn::Set(I32(), hwy::LowestValue<T>());
    for (int64_t t = 0; t < window.count; ++t) {
      best = hn::Max(best, load(x + window.at[t] + c, count));
    }
    store(best, y + c, count);
  });
}

void max_floats(const PoolArgs& args, const Window& window, int64_t pixel) {
  const auto* x = static_cast<const float*>(args.x);
  float* y = static_cast<float*>(args.y) + pixel * args.shape.in_c;
  each_vector(args.shape.in_c, [&](int64_t c, int64_t count) HWY_ATTR {
    VecF best = splat(-std::numeric_limits<float>::infinity());
    for (int64_t t = 0; t < window.count; ++t) {
      best = larger(best, load(x + window.at[t] + c, count));
    }
    store(best, y + c, count);
  });
}

template <typename T>
HWY_INLINE VecI average_one(const PoolArgs& args, const Window& window, int64_t c, int64_t count) {
  const auto* x = static_cast<const T*>(args.x);
  const auto m =
      static_cast<float>(args.x_scale / (static_cast<double>(window.divisor) * args.y_scale));
  VecI sum = hn::Zero(I32());
  for (int64_t t = 0; t < window.count; ++t) {
    sum = hn::Add(sum, load(x + window.at[t] + c, count));
  }
  sum = hn::Sub(sum, hn::Set(I32(), static_cast<int32_t>(window.count) * args.x_zero_point));
  return round_saturate(hn::Mul(hn::ConvertTo(F32(), sum), splat(m)),
                        rounding(args.zero_point, args.lo, args.hi));
}

template <typename T>
void average_codes(const PoolArgs& args, const Window& window, int64_t pixel) {
  const int64_t first = pixel * args.shape.in_c;
  each_vector(args.shape.in_c, [&](int64_t c, int64_t count) HWY_ATTR {
    const VecI q = average_one<T>(args, window, c, count);
    if (args.y_signed) {
      store(q, static_cast<int8_t*>(args.y) + first + c, count);
    } else {
      store(q, static_cast<uint8_t*>(args.y) + first + c, count);
    }
  });
}

void average_floats(const PoolArgs& args, const Window& window, int64_t pixel) {
  const auto* x = static_cast<const float*>(args.x);
  float* y = static_cast<float*>(args.y) + pixel * args.shape.in_c;
  const VecF divisor = splat(static_cast<float>(window.divisor));
  each_vector(args.shape.in_c, [&](int64_t c, int64_t count) HWY_ATTR {
    VecF sum = splat(0.0F);
    for (int64_t t = 0; t < window.count; ++t) {
      sum = hn::Add(sum, load(x + window.at[t] + c, count));
    }
    store(hn::Div(sum, divisor), y + c, count);
  });
}

void max_any(const PoolArgs& args, const Window& window, int64_t pixel) {
  switch (args.type) {
  case PoolType::kInt8:
    return max_codes<int8_t>(args, window, pixel);
  case PoolType::kUint8:
    return max_codes<uint8_t>(args, window, pixel);
  case PoolType::kFloat:
    return max_floats(args, window, pixel);
  }
}

void average_any(const PoolArgs& args, const Window& window, int64_t pixel) {
  switch (args.type) {
  case PoolType::kInt8:
    return average_codes<int8_t>(args, window, pixel);
  case PoolType::kUint8:
    return average_codes<uint8_t>(args, window, pixel);
  case PoolType::kFloat:
    return average_floats(args, window, pixel);
  }
}

} // namespace

PoolKernels pool_kernels() {
  return {.max = max_any, .average = average_any};
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
PoolKernels pool_kernels_avx2() {
  return N_AVX2::pool_kernels();
}
PoolKernels pool_kernels_avx512() {
  return N_AVX3::pool_kernels();
}
} // namespace octet::kernels
#endif
