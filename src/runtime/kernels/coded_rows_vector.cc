// SPDX-License-Identifier: Apache-2.0
// A row of k of some panels is decoded into two vectors each, which each row of x multiplies.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/coded_rows_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <utility>

#include "runtime/kernels/coded_rows.h"
#include "runtime/kernels/decode-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

HWY_INLINE void store_clamped(TwoVectors sum, const float* bias, const FloatEpilogue& e, float* y) {
  const VecF lo = splat(e.lo), hi = splat(e.hi);
  // Adding -0 changes nothing, not even the sign of a 0.
  const VecF none = splat(-0.0F);
  const VecF a = bias == nullptr ? none : hn::LoadU(F32(), bias);
  const VecF b = bias == nullptr ? none : hn::LoadU(F32(), bias + kLanesF);
  hn::StoreU(at_most(at_least(hn::Add(sum.a, a), lo), hi), F32(), y);
  hn::StoreU(at_most(at_least(hn::Add(sum.b, b), lo), hi), F32(), y + kLanesF);
}

// One row of x times some panels.
template <size_t kPanels>
struct RowSums {
  TwoVectors of[kPanels];

  HWY_INLINE RowSums() {
    for (TwoVectors& sum : of)
      sum = {hn::Zero(F32()), hn::Zero(F32())};
  }
  HWY_INLINE void add(const float* x, const TwoVectors (&w)[kPanels]) {
    const VecF v = splat(*x);
#pragma GCC unroll 8
    for (size_t p = 0; p < kPanels; ++p) {
      of[p].a = hn::MulAdd(v, w[p].a, of[p].a);
      of[p].b = hn::MulAdd(v, w[p].b, of[p].b);
    }
  }
  HWY_INLINE void store(const CodedRowsArgs& a, float* y) const {
#pragma GCC unroll 8
    for (size_t p = 0; p < kPanels; ++p) {
      const size_t column = p * 2 * kLanesF;
      const float* bias = a.epilogue.bias == nullptr ? nullptr : a.epilogue.bias + column;
      store_clamped(of[p], bias, a.epilogue, y + column);
    }
  }
};

// Packs of indices in place of loops over rows and panels, so that sums stay in registers.
template <class Codes, bool kZeros, size_t... r, size_t... p>
void multiply(const CodedRowsArgs& a, std::index_sequence<r...>, std::index_sequence<p...>) {
  constexpr auto kWidth = static_cast<int64_t>(2 * kLanesF);
  RowSums<sizeof...(p)> sums[sizeof...(r)];
  const uint8_t* const codes[] = {a.w.codes + static_cast<int64_t>(p) * a.panel_bytes...};
  const float* const x[] = {a.x + static_cast<int64_t>(r) * a.x_stride...};
  for (int64_t k = 0, block = 0; k < a.w.end; ++block) {
    const int64_t end = a.w.end - k > a.w.block ? k + a.w.block : a.w.end;
    const auto grids_at = [&](size_t panel) HWY_ATTR {
      const int64_t at = block * kWidth + static_cast<int64_t>(panel) * a.panel_scales;
      return Grids<Codes, kZeros>(a.w.scales + at, kZeros ? a.w.zeros + at : nullptr);
    };
    const Grids<Codes, kZeros> grids[] = {grids_at(p)...};
    for (; k < end; ++k) {
      const TwoVectors w[] = {grids[p].apply(Codes::row(codes[p], k))...};
      (sums[r].add(x[r] + k, w), ...);
    }
  }
  (sums[r].store(a, a.y + static_cast<int64_t>(r) * a.y_stride), ...);
}

template <class Codes, bool kZeros, size_t kRows>
void multiply_rows(const CodedRowsArgs& a) {
  constexpr int64_t kTogether = coded_panels(kRows, 2 * kLanesF);
  constexpr auto rows = std::make_index_sequence<kRows>();
  if (a.panels == kTogether)
    multiply<Codes, kZeros>(a, rows, std::make_index_sequence<static_cast<size_t>(kTogether)>());
  else
    multiply<Codes, kZeros>(a, rows, std::make_index_sequence<1>());
}

template <class Codes, bool kZeros>
void multiply_some(const CodedRowsArgs& a) {
  switch (a.rows) {
  case 1:
    return multiply_rows<Codes, kZeros, 1>(a);
  case 2:
    return multiply_rows<Codes, kZeros, 2>(a);
  case 3:
    return multiply_rows<Codes, kZeros, 3>(a);
  default:
    return multiply_rows<Codes, kZeros, static_cast<size_t>(kCodedRows)>(a);
  }
}

} // namespace

void coded_rows(const CodedRowsArgs& a) {
  with_codes(a.w, [&]([[maybe_unused]] auto codes) {
    using Codes = decltype(codes);
    a.w.zeros == nullptr ? multiply_some<Codes, false>(a) : multiply_some<Codes, true>(a);
  });
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void coded_rows_avx2(const CodedRowsArgs& args) {
  N_AVX2::coded_rows(args);
}
void coded_rows_avx512(const CodedRowsArgs& args) {
  N_AVX3::coded_rows(args);
}
} // namespace octet::kernels
#endif
