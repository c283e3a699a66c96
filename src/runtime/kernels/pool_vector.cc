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

// Sums of 8-bit codes fit int16 in windows of up to this many taps.
constexpr int64_t kMaxTaps16 = 128;
using I16 = hn::Repartition<int16_t, I32>;
constexpr auto kStep16 = static_cast<int64_t>(hn::MaxLanes(I16()));

template <typename T>
void max_codes(const PoolArgs& args, const Window& window, int64_t pixel) {
  const hn::Repartition<T, I32> bytes;
  constexpr auto kBytes = static_cast<int64_t>(hn::MaxLanes(bytes));
  const int64_t channels = args.shape.in_c;
  const auto* x = static_cast<const T*>(args.x);
  T* y = static_cast<T*>(args.y) + pixel * channels;
  int64_t first = 0;
  for (; first + kBytes <= channels; first += kBytes) {
    auto best = hn::Set(bytes, hwy::LowestValue<T>());
    for (int64_t t = 0; t < window.count; ++t) {
      best = hn::Max(best, hn::LoadU(bytes, x + window.at[t] + first));
    }
    hn::StoreU(best, bytes, y + first);
  }
  each_vector(channels - first, [&](int64_t at, int64_t count) HWY_ATTR {
    const int64_t c = first + at;
    VecI best = hn::Set(I32(), hwy::LowestValue<T>());
    for (int64_t t = 0; t < window.count; ++t) {
      best = hn::Max(best, load(x + window.at[t] + c, count));
    }
    store(best, y + c, count);
  });
}

void max_floats(const PoolArgs& args, const Window& window, int64_t pixel) {
  const auto* x = static_cast<const float*>(args.x);
  const int64_t channels = args.shape.in_c;
  float* y = static_cast<float*>(args.y) + pixel * channels;
  const VecF lowest = splat(-std::numeric_limits<float>::infinity());
  // Each comparison waits for the one before: four vectors at a time fill the gaps.
  int64_t first = 0;
  for (; first + 4 * kStep <= channels; first += 4 * kStep) {
    VecF a = lowest;
    VecF b = lowest;
    VecF c = lowest;
    VecF d = lowest;
    for (int64_t t = 0; t < window.count; ++t) {
      const float* from = x + window.at[t] + first;
      a = larger(a, hn::LoadU(F32(), from));
      b = larger(b, hn::LoadU(F32(), from + kStep));
      c = larger(c, hn::LoadU(F32(), from + 2 * kStep));
      d = larger(d, hn::LoadU(F32(), from + 3 * kStep));
    }
    hn::StoreU(a, F32(), y + first);
    hn::StoreU(b, F32(), y + first + kStep);
    hn::StoreU(c, F32(), y + first + 2 * kStep);
    hn::StoreU(d, F32(), y + first + 3 * kStep);
  }
  each_vector(channels - first, [&](int64_t at, int64_t count) HWY_ATTR {
    VecF best = lowest;
    for (int64_t t = 0; t < window.count; ++t) {
      best = larger(best, load(x + window.at[t] + first + at, count));
    }
    store(best, y + first + at, count);
  });
}

// What an average does with a sum of codes.
struct Average {
  VecI zeros; // z_x for each tap
  VecF m;
  Rounding to;

  HWY_INLINE VecI operator()(VecI sum) const {
    return round_saturate(hn::Mul(hn::ConvertTo(F32(), hn::Sub(sum, zeros)), m), to);
  }
};

template <typename T, typename Y>
void average_codes_to(const PoolArgs& args, const Window& window, int64_t pixel) {
  const int64_t channels = args.shape.in_c;
  const auto* x = static_cast<const T*>(args.x);
  Y* y = static_cast<Y*>(args.y) + pixel * channels;
  const auto m =
      static_cast<float>(args.x_scale / (static_cast<double>(window.divisor) * args.y_scale));
  const Average average{hn::Set(I32(), static_cast<int32_t>(window.count) * args.x_zero_point),
                        splat(m), rounding(args.zero_point, args.lo, args.hi)};
  const hn::Rebind<T, I16> codes;
  const hn::Half<I16> half;
  int64_t first = 0;
  for (; first + kStep16 <= channels && window.count <= kMaxTaps16; first += kStep16) {
    auto sum = hn::Zero(I16());
    for (int64_t t = 0; t < window.count; ++t) {
      sum = hn::Add(sum, hn::PromoteTo(I16(), hn::LoadU(codes, x + window.at[t] + first)));
    }
    store_codes(average(hn::PromoteTo(I32(), hn::LowerHalf(half, sum))), y + first);
    store_codes(average(hn::PromoteTo(I32(), hn::UpperHalf(half, sum))), y + first + kStep);
  }
  each_vector(channels - first, [&](int64_t at, int64_t count) HWY_ATTR {
    VecI sum = hn::Zero(I32());
    for (int64_t t = 0; t < window.count; ++t) {
      sum = hn::Add(sum, load(x + window.at[t] + first + at, count));
    }
    store(average(sum), y + first + at, count);
  });
}

template <typename T>
void average_codes(const PoolArgs& args, const Window& window, int64_t pixel) {
  if (args.y_signed) return average_codes_to<T, int8_t>(args, window, pixel);
  average_codes_to<T, uint8_t>(args, window, pixel);
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

} // namespace

PoolKernels pool_kernels() {
  return {.max_int8 = max_codes<int8_t>,
          .max_uint8 = max_codes<uint8_t>,
          .max_float = max_floats,
          .average_int8 = average_codes<int8_t>,
          .average_uint8 = average_codes<uint8_t>,
          .average_float = average_floats};
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
