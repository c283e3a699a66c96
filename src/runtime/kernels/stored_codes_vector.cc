// SPDX-License-Identifier: Apache-2.0
// Vector forms of the decoding of stored codes: a row of k of a panel is two vectors of columns.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/stored_codes_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "runtime/kernels/decode-inl.h"
#include "runtime/kernels/stored_codes.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

template <class Codes, bool kZeros>
void decode_panel(const DecodeArgs& a) {
  constexpr auto kWidth = static_cast<int64_t>(2 * kLanesF);
  float* out = a.out;
  for (int64_t k = a.begin; k < a.end;) {
    const int64_t block = k / a.block;
    const int64_t end = std::min(a.end, (block + 1) * a.block);
    const Grids<Codes, kZeros> grids(a.scales + block * kWidth,
                                     kZeros ? a.zeros + block * kWidth : nullptr);
    for (; k < end; ++k, out += kWidth) {
      const TwoVectors w = grids.apply(Codes::row(a.codes, k));
      hn::StoreU(w.a, F32(), out);
      hn::StoreU(w.b, F32(), out + kLanesF);
    }
  }
}

} // namespace

void decode_any(const DecodeArgs& a) {
  with_codes(a, [&]([[maybe_unused]] auto codes) {
    using Codes = decltype(codes);
    a.zeros == nullptr ? decode_panel<Codes, false>(a) : decode_panel<Codes, true>(a);
  });
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void decode_avx2(const DecodeArgs& args) {
  N_AVX2::decode_any(args);
}
void decode_avx512(const DecodeArgs& args) {
  N_AVX3::decode_any(args);
}
} // namespace octet::kernels
#endif
