// SPDX-License-Identifier: Apache-2.0
// Vector form of the kernels over 8-bit codes.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/codes_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/codes.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kStep = static_cast<int64_t>(kLanesF);

template <typename T>
HWY_INLINE VecI codes_at(const void* p, int64_t i, int64_t count) {
  const T* from = static_cast<const T*>(p) + i;
  return count == kStep ? load_codes(from) : load_some_codes(from, count);
}

HWY_INLINE VecI codes_at(const void* p, bool is_signed, int64_t i, int64_t count) {
  return is_signed ? codes_at<int8_t>(p, i, count) : codes_at<uint8_t>(p, i, count);
}

template <typename T>
HWY_INLINE void put(VecI v, void* p, int64_t i, int64_t count) {
  T* to = static_cast<T*>(p) + i;
  if (count == kStep) {
    store_codes(v, to);
  } else {
    store_some_codes(v, to, count);
  }
}

HWY_INLINE void put_codes(VecI v, void* p, bool is_signed, int64_t i, int64_t count) {
  if (is_signed) {
    put<int8_t>(v, p, i, count);
  } else {
    put<uint8_t>(v, p, i, count);
  }
}

// Calls body(i, count) for vectors of [begin, end).
template <typename Body>
HWY_INLINE void each_vector(int64_t begin, int64_t end, Body&& body) {
  int64_t i = begin;
  for (; i + kStep <= end; i += kStep) {
    body(i, kStep);
  }
  if (i < end) body(i, end - i);
}

void quantize_range(const QuantizeArgs& a, int64_t begin, int64_t end) {
  const Quantizer codes(a.scale, rounding(a.zero_point, a.lo, a.hi));
  each_vector(begin, end, [&](int64_t i, int64_t count) HWY_ATTR {
    const VecF x = count == kStep ? hn::LoadU(F32(), a.x + i) : load_some(a.x + i, count);
    put_codes(codes(x), a.y, a.is_signed, i, count);
  });
}

// A comparison waits for the one before it: four lie side by side.
constexpr int64_t kChains = 4;

// Lanes start from the range so far; NaN compares false.
void range(const float* x, int64_t begin, int64_t end, float& lo, float& hi) {
  VecF low[kChains];
  VecF high[kChains];
  for (int64_t k = 0; k < kChains; ++k) {
    low[k] = splat(lo);
    high[k] = splat(hi);
  }
  int64_t i = begin;
  for (; i + kChains * kStep <= end; i += kChains * kStep) {
    for (int64_t k = 0; k < kChains; ++k) {
      const VecF v = hn::LoadU(F32(), x + i + k * kStep);
      low[k] = hn::IfThenElse(hn::Lt(v, low[k]), v, low[k]);
      high[k] = hn::IfThenElse(hn::Gt(v, high[k]), v, high[k]);
    }
  }
  for (; i + kStep <= end; i += kStep) {
    const VecF v = hn::LoadU(F32(), x + i);
    low[0] = hn::IfThenElse(hn::Lt(v, low[0]), v, low[0]);
    high[0] = hn::IfThenElse(hn::Gt(v, high[0]), v, high[0]);
  }
  // No lane is NaN now.
  lo =
      hn::GetLane(hn::MinOfLanes(F32(), hn::Min(hn::Min(low[0], low[1]), hn::Min(low[2], low[3]))));
  hi = hn::GetLane(
      hn::MaxOfLanes(F32(), hn::Max(hn::Max(high[0], high[1]), hn::Max(high[2], high[3]))));
  for (; i < end; ++i) {
    if (x[i] < lo) lo = x[i];
    if (x[i] > hi) hi = x[i];
  }
}

float magnitude(const float* x, int64_t count) {
  VecF most[kChains];
  for (VecF& each : most) {
    each = hn::Zero(F32());
  }
  int64_t i = 0;
  for (; i + kChains * kStep <= count; i += kChains * kStep) {
    for (int64_t k = 0; k < kChains; ++k) {
      const VecF v = hn::Abs(hn::LoadU(F32(), x + i + k * kStep));
      most[k] = hn::IfThenElse(hn::Gt(v, most[k]), v, most[k]);
    }
  }
  each_vector(i, count, [&](int64_t at, int64_t some) HWY_ATTR {
    const VecF v = hn::Abs(some == kStep ? hn::LoadU(F32(), x + at) : load_some(x + at, some));
    most[0] = hn::IfThenElse(hn::Gt(v, most[0]), v, most[0]);
  });
  for (int64_t k = 1; k < kChains; ++k) {
    most[0] = hn::IfThenElse(hn::Gt(most[k], most[0]), most[k], most[0]);
  }
  HWY_ALIGN float lanes[kLanesF];
  hn::Store(most[0], F32(), lanes);
  float result = 0.0F;
  for (const float v : lanes) {
    result = v > result ? v : result;
  }
  return result;
}

void dequantize_range(const DequantizeArgs& a, int64_t begin, int64_t end) {
  const VecF scale = splat(a.scale);
  const VecI zero = hn::Set(I32(), a.zero_point);
  each_vector(begin, end, [&](int64_t i, int64_t count) HWY_ATTR {
    const VecI q = codes_at(a.x, a.is_signed, i, count);
    const VecF y = hn::Mul(hn::ConvertTo(F32(), hn::Sub(q, zero)), scale);
    if (count == kStep) {
      hn::StoreU(y, F32(), a.y + i);
    } else {
      store_some(y, a.y + i, count);
    }
  });
}

// The operand at i, or its one code in every lane.
HWY_INLINE VecI codes_or_one(const void* p, int64_t step, bool is_signed, int64_t i, int64_t n) {
  if (step != 0) return codes_at(p, is_signed, i, n);
  return hn::Set(I32(), is_signed ? int32_t{*static_cast<const int8_t*>(p)}
                                  : int32_t{*static_cast<const uint8_t*>(p)});
}

void add_range(const AddCodesArgs& a, int64_t count) {
  const Rounding to = rounding(a.zero_point, a.lo, a.hi);
  const VecI zero_a = hn::Set(I32(), a.a_zero_point);
  const VecI zero_b = hn::Set(I32(), a.b_zero_point);
  const VecF m_a = splat(a.a_multiplier);
  const VecF m_b = splat(a.b_multiplier);
  each_vector(0, count, [&](int64_t i, int64_t n) HWY_ATTR {
    const VecI qa = hn::Sub(codes_or_one(a.a, a.a_step, a.a_signed, i, n), zero_a);
    const VecI qb = hn::Sub(codes_or_one(a.b, a.b_step, a.b_signed, i, n), zero_b);
    const VecF r =
        hn::MulAdd(hn::ConvertTo(F32(), qb), m_b, hn::Mul(hn::ConvertTo(F32(), qa), m_a));
    put_codes(round_saturate(r, to), a.y, a.y_signed, i, n);
  });
}

} // namespace

CodeKernels code_kernels() {
  return {.range = range,
          .magnitude = magnitude,
          .quantize = quantize_range,
          .dequantize = dequantize_range,
          .add = add_range};
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
CodeKernels code_kernels_avx2() {
  return N_AVX2::code_kernels();
}
CodeKernels code_kernels_avx512() {
  return N_AVX3::code_kernels();
}
} // namespace octet::kernels
#endif
