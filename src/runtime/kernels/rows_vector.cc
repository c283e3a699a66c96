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

/// numerics::fold_sum, whose halves are these halves.
HWY_INLINE float fold(const VecF (&parts)[kParts]) {
#if HWY_TARGET == HWY_AVX3
  const hn::Half<F32> eight;
  const auto by_eight = hn::Add(hn::LowerHalf(eight, parts[0]), hn::UpperHalf(eight, parts[0]));
#else
  const F32 eight;
  const auto by_eight = hn::Add(parts[0], parts[1]);
#endif
  const hn::Half<decltype(eight)> four;
  const auto by_four = hn::Add(hn::LowerHalf(four, by_eight), hn::UpperHalf(four, by_eight));
  const auto by_two = hn::Add(by_four, hn::Shuffle1032(by_four));
  return hn::GetLane(hn::Add(by_two, hn::Shuffle2301(by_two)));
}

/// The largest element in each lane. Any order gives it, but for the sign of a zero, which no
/// exponential of a difference tells. It may be any number where one element is NaN: that one's
/// exponential makes the sum NaN, and that the row.
HWY_INLINE VecF row_max(const float* x, int64_t length) {
  const VecF lowest = splat(-std::numeric_limits<float>::infinity());
  VecF max = lowest;
  VecF other = lowest;
  int64_t i = 0;
  for (; i + 2 * kStep <= length; i += 2 * kStep) {
    max = at_least(hn::LoadU(F32(), x + i), max);
    other = at_least(hn::LoadU(F32(), x + i + kStep), other);
  }
  max = at_least(other, max);
  if (i + kStep <= length) {
    max = at_least(hn::LoadU(F32(), x + i), max);
    i += kStep;
  }
  if (i < length) {
    const auto some = hn::FirstN(F32(), static_cast<size_t>(length - i));
    max = at_least(hn::IfThenElse(some, load_some(x + i, length - i), lowest), max);
  }
  max = at_least(hn::Reverse2(F32(), max), max);
  max = at_least(hn::Reverse4(F32(), max), max);
  max = at_least(hn::Reverse8(F32(), max), max);
#if HWY_TARGET == HWY_AVX3
  max = at_least(hn::Reverse(F32(), max), max);
#endif
  return max;
}

void softmax_row(const float* x, int64_t length, float* y) {
  const VecF max = row_max(x, length);
  VecF parts[kParts];
  for (VecF& part : parts) {
    part = splat(0.0F);
  }
  each_vector(length, [&](size_t p, int64_t at, int64_t count) HWY_ATTR {
    VecF e = exp_of_negative(hn::Sub(load(x + at, count), max));
    if (count != kStep) e = hn::IfThenElseZero(hn::FirstN(F32(), static_cast<size_t>(count)), e);
    parts[p] = hn::Add(parts[p], e);
    store(e, y + at, count);
  });
  const VecF sum = splat(fold(parts));
  each_vector(length, [&](size_t, int64_t at, int64_t count)
                          HWY_ATTR { store(hn::Div(load(y + at, count), sum), y + at, count); });
}

/// y = x - mean, whose sum has been taken; the result is 1 / sqrt(mean of y^2 + epsilon).
HWY_INLINE float
centre_around(const VecF (&sums)[kParts], const float* x, int64_t length, float epsilon, float* y) {
  const auto n = static_cast<float>(length);
  const VecF mean = splat(fold(sums) / n);
  VecF squares[kParts];
  for (VecF& part : squares) {
    part = splat(0.0F);
  }
  each_vector(length, [&](size_t p, int64_t at, int64_t count) HWY_ATTR {
    VecF d = hn::Sub(load(x + at, count), mean);
    if (count != kStep) d = hn::IfThenElseZero(hn::FirstN(F32(), static_cast<size_t>(count)), d);
    squares[p] = hn::MulAdd(d, d, squares[p]);
    store(d, y + at, count);
  });
  return 1.0F / std::sqrt(fold(squares) / n + epsilon);
}

HWY_INLINE float centre(const float* x, int64_t length, float epsilon, float* y) {
  VecF sums[kParts];
  for (VecF& part : sums) {
    part = splat(0.0F);
  }
  each_vector(length, [&](size_t p, int64_t at, int64_t count)
                          HWY_ATTR { sums[p] = hn::Add(sums[p], load(x + at, count)); });
  return centre_around(sums, x, length, epsilon, y);
}

/// The same of x + residual, which is written to `sum`, or to y where that is null.
HWY_INLINE float centre_sum(
    const float* x, const float* residual, int64_t length, float epsilon, float* sum, float* y) {
  VecF sums[kParts];
  for (VecF& part : sums) {
    part = splat(0.0F);
  }
  float* const both = sum == nullptr ? y : sum;
  each_vector(length, [&](size_t p, int64_t at, int64_t count) HWY_ATTR {
    const VecF v = hn::Add(load(x + at, count), load(residual + at, count));
    store(v, both + at, count);
    sums[p] = hn::Add(sums[p], v);
  });
  return centre_around(sums, both, length, epsilon, y);
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

HWY_INLINE void put_codes(VecI codes, const RowCodes& to, int64_t at, int64_t count) {
  if (to.is_signed) {
    auto* y = static_cast<int8_t*>(to.y) + at;
    if (count == kStep) return store_codes(codes, y);
    return store_some_codes(codes, y, count);
  }
  auto* y = static_cast<uint8_t*>(to.y) + at;
  if (count == kStep) return store_codes(codes, y);
  store_some_codes(codes, y, count);
}

HWY_INLINE Rounding rounding_of(const RowCodes& codes) {
  return codes.is_signed ? rounding(codes.zero_point, -128, 127)
                         : rounding(codes.zero_point, 0, 255);
}

/// (d * inverse) * gain + bias of a row, handed on with its place.
template <typename Take>
HWY_INLINE void
normalize(const LayerNormArgs& a, const float* d, float inverse_root, const Take take) {
  const VecF inverse = splat(inverse_root);
  const float* const gains = a.gain;
  const float* const biases = a.bias;
  each_vector(a.length, [&](size_t, int64_t at, int64_t count) HWY_ATTR {
    const VecF gain = gains == nullptr ? splat(1.0F) : load(gains + at, count);
    const VecF bias = biases == nullptr ? splat(0.0F) : load(biases + at, count);
    take(hn::MulAdd(hn::Mul(load(d + at, count), inverse), gain, bias), at, count);
  });
}

void layer_norm_row(const LayerNormArgs& a, int64_t row, float* scratch) {
  const int64_t first = row * a.length;
  const float* x = a.x + first;
  float* const y = a.y == nullptr ? scratch : a.y + first;
  const float inverse = a.residual == nullptr
                            ? centre(x, a.length, a.epsilon, y)
                            : centre_sum(x, a.residual + first, a.length, a.epsilon,
                                         a.sum == nullptr ? nullptr : a.sum + first, y);
  if (a.code_count == 0) {
    return normalize(a, y, inverse,
                     [y](VecF v, int64_t at, int64_t count) HWY_ATTR { store(v, y + at, count); });
  }
  // The first codes come with the floats, others are made of those.
  const RowCodes codes = a.codes[0];
  const Quantizer coder(codes.scale, rounding_of(codes));
  const bool keeps = a.y != nullptr || a.code_count > 1;
  normalize(a, y, inverse, [&](VecF v, int64_t at, int64_t count) HWY_ATTR {
    if (keeps) store(v, y + at, count);
    put_codes(coder(v), codes, first + at, count);
  });
  for (int64_t k = 1; k < a.code_count; ++k) {
    const RowCodes more = a.codes[k];
    const Quantizer other(more.scale, rounding_of(more));
    each_vector(a.length, [&](size_t, int64_t at, int64_t count) HWY_ATTR {
      put_codes(other(load(y + at, count)), more, first + at, count);
    });
  }
}

/// Where the elements of some lines stay between passes.
struct Held {
  float* at;
  int64_t step;  ///< between the places of a line
  int64_t count; ///< lines that are written
};

/// Of lines whose elements are `inner` apart, `count` of them. The virtual lanes of each line are
/// vectors here, one for each place in the fold.
void softmax_vector(
    const float* x, int64_t length, int64_t inner, int64_t count, const Held& held, float* y) {
  constexpr auto kVirtual = static_cast<size_t>(numerics::kVirtualLanes);
  VecF max = splat(-std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < length; ++i) {
    const VecF v = load(x + i * inner, count);
    max = larger(max, v);
    store(v, held.at + i * held.step, held.count);
  }
  HWY_ALIGN float lanes[kVirtual * kLanesF] = {};
  for (int64_t i = 0; i < length; ++i) {
    float* place = held.at + i * held.step;
    const VecF e = exp(hn::Sub(load(place, held.count), max));
    float* lane = lanes + static_cast<size_t>(i) % kVirtual * kLanesF;
    hn::Store(hn::Add(hn::Load(F32(), lane), e), F32(), lane);
    store(e, place, held.count);
  }
  for (size_t half = kVirtual / 2; half > 0; half /= 2) {
    for (size_t k = 0; k < half * kLanesF; k += kLanesF) {
      hn::Store(hn::Add(hn::Load(F32(), lanes + k), hn::Load(F32(), lanes + k + half * kLanesF)),
                F32(), lanes + k);
    }
  }
  const VecF sum = hn::Load(F32(), lanes);
  for (int64_t i = 0; i < length; ++i) {
    store(hn::Div(load(held.at + i * held.step, held.count), sum), y + i * inner, count);
  }
}

/// Of rows that leave most of a vector empty: a vector has one place of several rows.
constexpr int64_t kShortRow = 8;
void softmax_short_rows(const float* x, int64_t rows, int64_t length, float* y) {
  HWY_ALIGN float turned[kShortRow * kLanesF];
  for (int64_t i = 0; i < length; ++i)
    for (int64_t r = 0; r < rows; ++r)
      turned[i * kStep + r] = x[r * length + i];
  softmax_vector(turned, length, kStep, rows, {turned, kStep, kStep}, turned);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < length; ++i)
      y[r * length + i] = turned[i * kStep + r];
}

} // namespace

void softmax_some_lines(const float* x, int64_t length, int64_t inner, int64_t count, float* y) {
  // In the tensor the places of a line meet in the cache where they are a power of two apart.
  constexpr int64_t kPlaces = 1024;
  HWY_ALIGN float places[kPlaces * kLanesF];
  for (int64_t k = 0; k < count; k += kStep) {
    const int64_t some = std::min(count - k, kStep);
    const Held held = length <= kPlaces ? Held{places, kStep, kStep} : Held{y + k, inner, some};
    softmax_vector(x + k, length, inner, some, held, y + k);
  }
}

void group_norm_rows(const GroupNormArgs& a, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    group_norm_row(a, r);
  }
}

void softmax_rows(const float* x, int64_t rows, int64_t length, float* y) {
  if (length <= kShortRow) {
    for (int64_t r = 0; r < rows; r += kStep)
      softmax_short_rows(x + r * length, std::min(kStep, rows - r), length, y + r * length);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    softmax_row(x + r * length, length, y + r * length);
  }
}

void layer_norm_rows(const LayerNormArgs& a, int64_t begin, int64_t end, float* row) {
  for (int64_t r = begin; r < end; ++r) {
    layer_norm_row(a, r, row);
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
void layer_norm_rows_avx2(const LayerNormArgs& args, int64_t begin, int64_t end, float* row) {
  N_AVX2::layer_norm_rows(args, begin, end, row);
}
void layer_norm_rows_avx512(const LayerNormArgs& args, int64_t begin, int64_t end, float* row) {
  N_AVX3::layer_norm_rows(args, begin, end, row);
}
} // namespace octet::kernels
#endif
