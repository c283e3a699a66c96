// SPDX-License-Identifier: Apache-2.0
// Vector form of softmax and the norms. The 16 virtual lanes are two AVX2 vectors or one AVX-512
// vector; lanes past the end of a row add 0, which changes nothing since a lane starts at +0.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/rows_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "core/numerics/reduce.h"
#include "runtime/kernels/rows.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kStep = static_cast<int64_t>(kLanesF);
constexpr size_t kParts = static_cast<size_t>(numerics::kVirtualLanes) / kLanesF;

// Calls body(part, offset, count) for each vector of a row, `part` counting within the virtual
// lanes; count is kStep but for the last one.
template <typename Body>
HWY_INLINE void each_vector(int64_t length, Body&& body) {
  size_t part = 0;
  int64_t i = 0;
  for (; i + kStep <= length; i += kStep) {
    body(part, i, kStep);
    part = (part + 1) % kParts;
  }
  if (i < length) body(part, i, length - i);
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

HWY_INLINE float fold(const VecF (&parts)[kParts]) {
  numerics::Lanes lanes;
  for (size_t p = 0; p < kParts; ++p) {
    hn::StoreU(parts[p], F32(), lanes.data() + p * kLanesF);
  }
  return numerics::fold_sum(lanes);
}

HWY_INLINE float row_max(const float* x, int64_t length) {
  const float lowest = -std::numeric_limits<float>::infinity();
  VecF max = splat(lowest);
  int64_t i = 0;
  for (; i + kStep <= length; i += kStep) {
    max = larger(max, hn::LoadU(F32(), x + i));
  }
  HWY_ALIGN float lanes[kLanesF];
  hn::Store(max, F32(), lanes);
  float result = lowest;
  for (const float lane : lanes) {
    result = numerics::larger(result, lane);
  }
  for (; i < length; ++i) {
    result = numerics::larger(result, x[i]);
  }
  return result;
}

void softmax_row(const float* x, int64_t length, float* y) {
  const VecF max = splat(row_max(x, length));
  VecF parts[kParts];
  for (VecF& part : parts) {
    part = splat(0.0F);
  }
  each_vector(length, [&](size_t p, int64_t at, int64_t count) HWY_ATTR {
    VecF e = exp(hn::Sub(load(x + at, count), max));
    if (count != kStep) e = hn::IfThenElseZero(hn::FirstN(F32(), static_cast<size_t>(count)), e);
    parts[p] = hn::Add(parts[p], e);
    store(e, y + at, count);
  });
  const VecF sum = splat(fold(parts));
  each_vector(length, [&](size_t, int64_t at, int64_t count)
                          HWY_ATTR { store(hn::Div(load(y + at, count), sum), y + at, count); });
}

/// y = x - mean; the result is 1 / sqrt(mean of y^2 + epsilon).
HWY_INLINE float centre(const float* x, int64_t length, float epsilon, float* y) {
  const auto n = static_cast<float>(length);
  VecF sums[kParts];
  VecF squares[kParts];
  for (size_t p = 0; p < kParts; ++p) {
    sums[p] = squares[p] = splat(0.0F);
  }
  each_vector(length, [&](size_t p, int64_t at, int64_t count)
                          HWY_ATTR { sums[p] = hn::Add(sums[p], load(x + at, count)); });
  const VecF mean = splat(fold(sums) / n);
  each_vector(length, [&](size_t p, int64_t at, int64_t count) HWY_ATTR {
    VecF d = hn::Sub(load(x + at, count), mean);
    if (count != kStep) d = hn::IfThenElseZero(hn::FirstN(F32(), static_cast<size_t>(count)), d);
    squares[p] = hn::MulAdd(d, d, squares[p]);
    store(d, y + at, count);
  });
  return 1.0F / std::sqrt(fold(squares) / n + epsilon);
}

void group_norm_row(const GroupNormArgs& a, int64_t row) {
  const int64_t length = a.channels * a.plane;
  float* y = a.y + row * length;
  const VecF inverse = splat(centre(a.x + row * length, length, a.epsilon, y));
  for (int64_t c = 0; c < a.channels; ++c, y += a.plane) {
    const int64_t channel = row % a.groups * a.channels + c;
    const VecF gain = splat(a.gain[channel]);
    const VecF bias = splat(a.bias[channel]);
    each_vector(a.plane, [&](size_t, int64_t at, int64_t count) HWY_ATTR {
      store(hn::MulAdd(hn::Mul(load(y + at, count), inverse), gain, bias), y + at, count);
    });
  }
}

void layer_norm_row(const LayerNormArgs& a, const float* x, float* y) {
  const VecF inverse = splat(centre(x, a.length, a.epsilon, y));
  each_vector(a.length, [&](size_t, int64_t at, int64_t count) HWY_ATTR {
    const VecF gain = a.gain == nullptr ? splat(1.0F) : load(a.gain + at, count);
    const VecF bias = a.bias == nullptr ? splat(0.0F) : load(a.bias + at, count);
    store(hn::MulAdd(hn::Mul(load(y + at, count), inverse), gain, bias), y + at, count);
  });
}

/// The virtual lanes of each line are vectors here, one for each place in the fold.
void softmax_vector(const float* x, int64_t length, int64_t inner, int64_t count, float* y) {
  constexpr auto kVirtual = static_cast<size_t>(numerics::kVirtualLanes);
  VecF max = splat(-std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < length; ++i) {
    max = larger(max, load(x + i * inner, count));
  }
  HWY_ALIGN float lanes[kVirtual * kLanesF] = {};
  for (int64_t i = 0; i < length; ++i) {
    const VecF e = exp(hn::Sub(load(x + i * inner, count), max));
    float* lane = lanes + static_cast<size_t>(i) % kVirtual * kLanesF;
    hn::Store(hn::Add(hn::Load(F32(), lane), e), F32(), lane);
    store(e, y + i * inner, count);
  }
  for (size_t half = kVirtual / 2; half > 0; half /= 2) {
    for (size_t k = 0; k < half * kLanesF; k += kLanesF) {
      hn::Store(hn::Add(hn::Load(F32(), lanes + k), hn::Load(F32(), lanes + k + half * kLanesF)),
                F32(), lanes + k);
    }
  }
  const VecF sum = hn::Load(F32(), lanes);
  for (int64_t i = 0; i < length; ++i) {
    store(hn::Div(load(y + i * inner, count), sum), y + i * inner, count);
  }
}

} // namespace

void softmax_some_lines(const float* x, int64_t length, int64_t inner, int64_t count, float* y) {
  for (int64_t k = 0; k < count; k += kStep) {
    softmax_vector(x + k, length, inner, count - k < kStep ? count - k : kStep, y + k);
  }
}

void group_norm_rows(const GroupNormArgs& a, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    group_norm_row(a, r);
  }
}

void softmax_rows(const float* x, int64_t rows, int64_t length, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    softmax_row(x + r * length, length, y + r * length);
  }
}

void layer_norm_rows(const LayerNormArgs& a, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    layer_norm_row(a, a.x + r * a.length, a.y + r * a.length);
  }
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void softmax_rows_avx2(const float* x, int64_t rows, int64_t length, float* y) {
  N_AVX2::softmax_rows(x, rows, length, y);
}
void softmax_rows_avx512(const float* x, int64_t rows, int64_t length, float* y) {
  N_AVX3::softmax_rows(x, rows, length, y);
}
void softmax_some_lines_avx2(
    const float* x, int64_t length, int64_t inner, int64_t count, float* y) {
  N_AVX2::softmax_some_lines(x, length, inner, count, y);
}
void softmax_some_lines_avx512(
    const float* x, int64_t length, int64_t inner, int64_t count, float* y) {
  N_AVX3::softmax_some_lines(x, length, inner, count, y);
}
void group_norm_rows_avx2(const GroupNormArgs& args, int64_t begin, int64_t end) {
  N_AVX2::group_norm_rows(args, begin, end);
}
void group_norm_rows_avx512(const GroupNormArgs& args, int64_t begin, int64_t end) {
  N_AVX3::group_norm_rows(args, begin, end);
}
void layer_norm_rows_avx2(const LayerNormArgs& args, int64_t begin, int64_t end) {
  N_AVX2::layer_norm_rows(args, begin, end);
}
void layer_norm_rows_avx512(const LayerNormArgs& args, int64_t begin, int64_t end) {
  N_AVX3::layer_norm_rows(args, begin, end);
}
} // namespace octet::kernels
#endif
