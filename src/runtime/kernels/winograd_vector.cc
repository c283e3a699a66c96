// SPDX-License-Identifier: Apache-2.0
// Vector forms of the transforms and products of winograd.h.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/winograd_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/winograd.h"
#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<int16_t, 16>; // channels of a place
using Bytes = hn::Rebind<uint8_t, Words>;
using VecWords = hn::Vec<Words>;
using Pairs = hn::ScalableTag<int16_t>;
using Sums = hn::RepartitionToWide<Pairs>;
using VecSums = hn::Vec<Sums>;

constexpr int64_t kWords = 16;
constexpr int64_t kLine = 32; // int16
constexpr int64_t kSums = HWY_TARGET == HWY_AVX3 ? 16 : 8;
constexpr bool kTwoVectors = kSums < kColumnsPerPanel;

struct Four {
  VecWords a, b, c, d;
};

// One side of the transform of x: B^T of the paper.
HWY_INLINE Four filtered(const Four& v) {
  return {hn::Sub(v.a, v.c), hn::Add(v.b, v.c), hn::Sub(v.c, v.b), hn::Sub(v.b, v.d)};
}

HWY_INLINE void store(const Four& v, int16_t* to, int64_t step) {
  hn::StoreU(v.a, Words(), to);
  hn::StoreU(v.b, Words(), to + 4 * step);
  hn::StoreU(v.c, Words(), to + 8 * step);
  hn::StoreU(v.d, Words(), to + 12 * step);
}

void tile(const uint8_t* const* at, int64_t channels, int32_t shift, int16_t* to, int64_t step) {
  const auto more = hn::Set(Bytes(), static_cast<uint8_t>(shift));
  for (int64_t c = 0; c < channels; c += kWords) {
    c = HWY_MIN(c, channels - kWords);
    const auto row = [&](int64_t i) HWY_ATTR {
      const auto place = [&](int64_t j) HWY_ATTR {
        const auto bytes = hn::Add(hn::LoadU(Bytes(), at[4 * i + j] + c), more);
        return hn::PromoteTo(Words(), bytes);
      };
      return filtered({place(0), place(1), place(2), place(3)});
    };
    const Four r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
    store(filtered({r0.a, r1.a, r2.a, r3.a}), to + c, step);
    store(filtered({r0.b, r1.b, r2.b, r3.b}), to + c + step, step);
    store(filtered({r0.c, r1.c, r2.c, r3.c}), to + c + 2 * step, step);
    store(filtered({r0.d, r1.d, r2.d, r3.d}), to + c + 3 * step, step);
  }
}

struct RowSums {
  VecSums a, b; // the second of 8 columns alone
};

HWY_INLINE void add_products(RowSums& sums, const int16_t* x, const int16_t* w) {
  int32_t two = 0;
  __builtin_memcpy(&two, x, sizeof(two));
  const auto v = hn::BitCast(Pairs(), hn::Set(Sums(), two));
  auto unused = hn::Zero(Sums());
  sums.a = hn::ReorderWidenMulAccumulate(Sums(), v, hn::LoadU(Pairs(), w), sums.a, unused);
  if constexpr (kTwoVectors)
    sums.b =
        hn::ReorderWidenMulAccumulate(Sums(), v, hn::LoadU(Pairs(), w + 2 * kSums), sums.b, unused);
}

HWY_INLINE void store(const RowSums& sums, int32_t* to) {
  hn::StoreU(sums.a, Sums(), to);
  if constexpr (kTwoVectors) hn::StoreU(sums.b, Sums(), to + kSums);
}

void product(const int16_t* x, int64_t rows, int64_t channels, const int16_t* w, int32_t* acc) {
  const int64_t all = channels * kColumnsPerPanel;
  for (int64_t r = 0; r < rows; r += 4, x += 4 * channels, acc += 4 * kColumnsPerPanel) {
    // The weights behind these come next: a part of them is brought near with each four rows.
    for (int64_t line = r / 4 * kLine; line < all; line += rows / 4 * kLine)
      hwy::Prefetch(w + all + line);
    const auto zero = hn::Zero(Sums());
    RowSums s0{zero, zero}, s1 = s0, s2 = s0, s3 = s0;
    const int16_t* weights = w;
    for (int64_t k = 0; k < channels; k += 2, weights += 2 * kColumnsPerPanel) {
      add_products(s0, x + k, weights);
      add_products(s1, x + k + channels, weights);
      add_products(s2, x + k + 2 * channels, weights);
      add_products(s3, x + k + 3 * channels, weights);
    }
    store(s0, acc);
    store(s1, acc + kColumnsPerPanel);
    store(s2, acc + 2 * kColumnsPerPanel);
    store(s3, acc + 3 * kColumnsPerPanel);
  }
}

struct TwoSums {
  VecSums a, b;
};

// One side of the transform of the sums: A^T of the paper.
HWY_INLINE TwoSums gathered(VecSums a, VecSums b, VecSums c, VecSums d) {
  return {hn::Add(hn::Add(a, b), c), hn::Sub(hn::Sub(b, c), d)};
}

void output(const int32_t* sums, int64_t step, int64_t tiles, int32_t* upper, int32_t* lower) {
  for (int64_t t = 0; t < tiles; ++t, sums += kColumnsPerPanel) {
    for (int64_t c = 0; c < kColumnsPerPanel; c += kSums) {
      const auto row = [&](int64_t i) HWY_ATTR {
        const auto place = [&](int64_t j) HWY_ATTR {
          return hn::LoadU(Sums(), sums + c + (4 * i + j) * step);
        };
        return gathered(place(0), place(1), place(2), place(3));
      };
      const TwoSums r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
      const TwoSums left = gathered(r0.a, r1.a, r2.a, r3.a);
      const TwoSums right = gathered(r0.b, r1.b, r2.b, r3.b);
      const auto quarter = [&](VecSums v, int32_t* to)
                               HWY_ATTR { hn::StoreU(hn::ShiftRight<2>(v), Sums(), to); };
      const int64_t at = 2 * t * kColumnsPerPanel + c;
      quarter(left.a, upper + at);
      quarter(right.a, upper + at + kColumnsPerPanel);
      quarter(left.b, lower + at);
      quarter(right.b, lower + at + kColumnsPerPanel);
    }
  }
}

} // namespace

void winograd_tile(
    const uint8_t* const* at, int64_t channels, int32_t shift, int16_t* to, int64_t step) {
  tile(at, channels, shift, to, step);
}
void winograd_product(
    const int16_t* x, int64_t rows, int64_t channels, const int16_t* w, int32_t* acc) {
  product(x, rows, channels, w, acc);
}
void winograd_output(
    const int32_t* sums, int64_t step, int64_t tiles, int32_t* upper, int32_t* lower) {
  output(sums, step, tiles, upper, lower);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void winograd_tile_avx2(
    const uint8_t* const* at, int64_t channels, int32_t shift, int16_t* to, int64_t step) {
  N_AVX2::winograd_tile(at, channels, shift, to, step);
}
void winograd_tile_avx512(
    const uint8_t* const* at, int64_t channels, int32_t shift, int16_t* to, int64_t step) {
  N_AVX3::winograd_tile(at, channels, shift, to, step);
}
void winograd_product_avx2(
    const int16_t* x, int64_t rows, int64_t channels, const int16_t* w, int32_t* acc) {
  N_AVX2::winograd_product(x, rows, channels, w, acc);
}
void winograd_product_avx512(
    const int16_t* x, int64_t rows, int64_t channels, const int16_t* w, int32_t* acc) {
  N_AVX3::winograd_product(x, rows, channels, w, acc);
}
void winograd_output_avx2(
    const int32_t* sums, int64_t step, int64_t tiles, int32_t* upper, int32_t* lower) {
  N_AVX2::winograd_output(sums, step, tiles, upper, lower);
}
void winograd_output_avx512(
    const int32_t* sums, int64_t step, int64_t tiles, int32_t* upper, int32_t* lower) {
  N_AVX3::winograd_output(sums, step, tiles, upper, lower);
}
} // namespace octet::kernels
#endif
