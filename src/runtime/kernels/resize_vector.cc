// SPDX-License-Identifier: Apache-2.0
// Vector form of the taps of Resize.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/resize_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/resize.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kStep = static_cast<int64_t>(kLanesF);

template <typename Load>
HWY_INLINE VecF mixed(const float* weights, int64_t taps, Load&& load) {
  if (taps == 0) return splat(0.0F);
  VecF r = hn::Mul(splat(weights[0]), load(0));
  for (int64_t k = 1; k < taps; ++k) {
    r = hn::MulAdd(splat(weights[k]), load(k), r);
  }
  return r;
}

} // namespace

void mix_rows(const float* const* rows, const float* weights, int64_t taps, int64_t n, float* y) {
  int64_t i = 0;
  if (taps == 2) { // of most places of a linear interpolation
    const float* a = rows[0];
    const float* b = rows[1];
    const VecF first = splat(weights[0]);
    const VecF second = splat(weights[1]);
    for (; i + kStep <= n; i += kStep) {
      const VecF r = hn::Mul(first, hn::LoadU(F32(), a + i));
      hn::StoreU(hn::MulAdd(second, hn::LoadU(F32(), b + i), r), F32(), y + i);
    }
  }
  for (; i + kStep <= n; i += kStep) {
    hn::StoreU(
        mixed(weights, taps, [&](int64_t k) HWY_ATTR { return hn::LoadU(F32(), rows[k] + i); }),
        F32(), y + i);
  }
  if (i < n) {
    store_some(
        mixed(weights, taps, [&](int64_t k) HWY_ATTR { return load_some(rows[k] + i, n - i); }),
        y + i, n - i);
  }
}

void mix_columns(const ResizeTaps& taps, const float* x, float* y) {
  for (int64_t p = 0; p < taps.places; p += kStep) {
    const int64_t count = taps.places - p < kStep ? taps.places - p : kStep;
    VecF r = splat(0.0F);
    for (int64_t k = 0; k < taps.most; ++k) {
      const float* weights = taps.weight.data() + k * taps.places + p;
      const int32_t* indices = taps.index.data() + k * taps.places + p;
      const bool whole = count == kStep;
      const VecF w = whole ? hn::LoadU(F32(), weights) : load_some(weights, count);
      const VecI at = whole ? hn::LoadU(I32(), indices) : load_first(I32(), indices, count);
      const VecF v = hn::GatherIndex(F32(), x, at);
      const VecF next = k == 0 ? hn::Mul(w, v) : hn::MulAdd(w, v, r);
      r = hn::IfThenElse(hn::Eq(w, splat(0.0F)), r, next);
    }
    if (count == kStep) {
      hn::StoreU(r, F32(), y + p);
    } else {
      store_some(r, y + p, count);
    }
  }
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void mix_rows_avx2(
    const float* const* rows, const float* weights, int64_t taps, int64_t count, float* y) {
  N_AVX2::mix_rows(rows, weights, taps, count, y);
}
void mix_rows_avx512(
    const float* const* rows, const float* weights, int64_t taps, int64_t count, float* y) {
  N_AVX3::mix_rows(rows, weights, taps, count, y);
}
void mix_columns_avx2(const ResizeTaps& taps, const float* x, float* y) {
  N_AVX2::mix_columns(taps, x, y);
}
void mix_columns_avx512(const ResizeTaps& taps, const float* x, float* y) {
  N_AVX3::mix_columns(taps, x, y);
}
} // namespace octet::kernels
#endif
