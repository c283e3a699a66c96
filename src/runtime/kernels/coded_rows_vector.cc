// SPDX-License-Identifier: Apache-2.0
// A row of k of a panel is decoded into two vectors, which each row of x multiplies.
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

HWY_INLINE void add_product(TwoVectors& sum, const float* x, const TwoVectors& w) {
  const VecF v = splat(*x);
  sum.a = hn::MulAdd(v, w.a, sum.a);
  sum.b = hn::MulAdd(v, w.b, sum.b);
}

HWY_INLINE void
store_clamped(TwoVectors sum, const TwoVectors& bias, const FloatEpilogue& e, float* y) {
  const VecF lo = splat(e.lo), hi = splat(e.hi);
  hn::StoreU(at_most(at_least(hn::Add(sum.a, bias.a), lo), hi), F32(), y);
  hn::StoreU(at_most(at_least(hn::Add(sum.b, bias.b), lo), hi), F32(), y + kLanesF);
}

// Packs of indices in place of loops over rows, so that sums stay in registers.
template <class Codes, bool kZeros, size_t... r>
void multiply_rows(const CodedRowsArgs& a, std::index_sequence<r...>) {
  constexpr auto kWidth = static_cast<int64_t>(2 * kLanesF);
  const VecF none = hn::Zero(F32());
  TwoVectors sums[sizeof...(r)] = {((void)r, TwoVectors{none, none})...};
  const uint8_t* const codes = a.w.codes;
  const float* const x[] = {a.x + static_cast<int64_t>(r) * a.x_stride...};
  for (int64_t k = 0, block = 0; k < a.w.end; ++block) {
    const int64_t end = a.w.end - k > a.w.block ? k + a.w.block : a.w.end;
    const Grids<Codes, kZeros> grids(a.w.scales + block * kWidth,
                                     kZeros ? a.w.zeros + block * kWidth : nullptr);
    for (; k < end; ++k) {
      const TwoVectors w = grids.apply(Codes::row(codes, k));
      (add_product(sums[r], x[r] + k, w), ...);
    }
  }
  // Adding -0 changes nothing, not even the sign of a 0.
  const float* from = a.epilogue.bias;
  const TwoVectors bias =
      from == nullptr ? TwoVectors{splat(-0.0F), splat(-0.0F)}
                      : TwoVectors{hn::LoadU(F32(), from), hn::LoadU(F32(), from + kLanesF)};
  (store_clamped(sums[r], bias, a.epilogue, a.y + static_cast<int64_t>(r) * a.y_stride), ...);
}

template <class Codes, bool kZeros>
void multiply_some(const CodedRowsArgs& a) {
  switch (a.rows) {
  case 1:
    return multiply_rows<Codes, kZeros>(a, std::make_index_sequence<1>());
  case 2:
    return multiply_rows<Codes, kZeros>(a, std::make_index_sequence<2>());
  case 3:
    return multiply_rows<Codes, kZeros>(a, std::make_index_sequence<3>());
  default:
    return multiply_rows<Codes, kZeros>(
        a, std::make_index_sequence<static_cast<size_t>(kCodedRows)>());
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
