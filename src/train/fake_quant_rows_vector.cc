// SPDX-License-Identifier: Apache-2.0
// Vector loops of fake quantization.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/fake_quant_rows_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "train/fake_quant_rows.h"

HWY_BEFORE_NAMESPACE();
namespace octet::train::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 8>;
using Vec = hn::Vec<F32>;
using Mask = hn::Mask<F32>;
constexpr int64_t kLanes = 8;

struct Range {
  Vec scale, low, high;
};

template <RowScales kScales>
HWY_INLINE Range range_at(const FakeQuantRow& row, int64_t i) {
  const F32 d;
  if constexpr (kScales == RowScales::kEach)
    return {hn::LoadU(d, row.scale + i), hn::LoadU(d, row.low + i), hn::LoadU(d, row.high + i)};
  return {hn::Set(d, *row.scale), hn::Set(d, *row.low), hn::Set(d, *row.high)};
}

HWY_INLINE Mask is_inside(Vec r, const Range& range) {
  const Vec half = hn::Set(F32(), 0.5F);
  return hn::And(hn::Gt(r, hn::Sub(range.low, half)), hn::Lt(r, hn::Add(range.high, half)));
}

HWY_INLINE Vec code_of(Vec r, const Range& range) {
  Vec c = hn::IfThenElse(hn::Lt(r, range.low), range.low, r);
  c = hn::IfThenElse(hn::Gt(c, range.high), range.high, c);
  c = hn::IfThenElseZero(hn::Eq(c, c), c);
  const Vec rounder = hn::Set(F32(), 12582912.0F);
  return hn::Sub(hn::Add(c, rounder), rounder);
}

HWY_INLINE uint16_t* note(Mask clipped, int64_t place, uint16_t* list) {
  uint8_t bits[8] = {};
  hn::StoreMaskBits(F32(), clipped, bits);
  for (unsigned rest = bits[0]; rest != 0; rest &= rest - 1)
    *list++ = static_cast<uint16_t>(place + __builtin_ctz(rest));
  return list;
}

/// What is left behind whole vectors.
FakeQuantRow tail(const FakeQuantRow& row, int64_t done) {
  const int64_t step = row.scales == RowScales::kEach ? done : 0;
  return {row.x + done,    row.scale + step, row.low + step,
          row.high + step, row.scales,       row.count - done};
}

template <RowScales kScales, bool kNotes>
HWY_INLINE uint16_t* map(const FakeQuantRow& row, float* y, int64_t base, uint16_t* clipped) {
  const F32 d;
  int64_t i = 0;
  Range range = range_at<RowScales::kOne>(row, 0);
  for (; i + kLanes <= row.count; i += kLanes) {
    if constexpr (kScales == RowScales::kEach) range = range_at<kScales>(row, i);
    const Vec r = hn::Div(hn::LoadU(d, row.x + i), range.scale);
    if constexpr (kNotes) {
      const Mask outside = hn::Not(is_inside(r, range));
      if (HWY_UNLIKELY(!hn::AllFalse(d, outside))) clipped = note(outside, base + i, clipped);
    }
    hn::StoreU(hn::Mul(code_of(r, range), range.scale), d, y + i);
  }
  return kFakeQuantScalar.forward(tail(row, i), y + i, base + i, clipped);
}

} // namespace

uint16_t* forward(const FakeQuantRow& row, float* y, int64_t base, uint16_t* clipped) {
  if (row.scales == RowScales::kEach)
    return clipped != nullptr ? map<RowScales::kEach, true>(row, y, base, clipped)
                              : map<RowScales::kEach, false>(row, y, base, clipped);
  return clipped != nullptr ? map<RowScales::kOne, true>(row, y, base, clipped)
                            : map<RowScales::kOne, false>(row, y, base, clipped);
}

template <RowScales kScales>
HWY_INLINE void map_back(const FakeQuantRow& row, float* g, float* ds) {
  const F32 d;
  int64_t i = 0;
  Range range = range_at<RowScales::kOne>(row, 0);
  Vec sum = hn::Zero(d);
  const Vec half = hn::Set(d, 0.5F);
  for (; i + kLanes <= row.count; i += kLanes) {
    if constexpr (kScales == RowScales::kEach) range = range_at<kScales>(row, i);
    const Vec r = hn::Div(hn::LoadU(d, row.x + i), range.scale), gradient = hn::LoadU(d, g + i);
    const Mask inside = is_inside(r, range);
    const Vec above = hn::IfThenElseZero(hn::Ge(r, hn::Add(range.high, half)), range.high);
    const Vec bound = hn::IfThenElse(hn::Le(r, hn::Sub(range.low, half)), range.low, above);
    const Vec slope = hn::IfThenElse(inside, hn::Sub(code_of(r, range), r), bound);
    hn::StoreU(hn::IfThenElseZero(inside, gradient), d, g + i);
    const Vec part = hn::Mul(slope, gradient);
    if constexpr (kScales == RowScales::kEach)
      hn::StoreU(hn::Add(hn::LoadU(d, ds + i), part), d, ds + i);
    else
      sum = hn::Add(sum, part);
  }
  if constexpr (kScales == RowScales::kOne) *ds += hn::GetLane(hn::SumOfLanes(d, sum));
  kFakeQuantScalar.backward(tail(row, i), g + i, kScales == RowScales::kEach ? ds + i : ds);
}

void backward(const FakeQuantRow& row, float* g, float* ds) {
  if (row.scales == RowScales::kEach)
    map_back<RowScales::kEach>(row, g, ds);
  else
    map_back<RowScales::kOne>(row, g, ds);
}
#endif
} // namespace octet::train::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::train {
const FakeQuantLoops kFakeQuantAvx2{N_AVX2::forward, N_AVX2::backward};
} // namespace octet::train
#endif
