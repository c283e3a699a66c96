// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of eight lines at once with AVX-512. Contract: fourier.h.
#include "runtime/kernels/fourier.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#endif

namespace octet::kernels {
namespace fourier_lanes_avx512 {
namespace {

using Lane = double __attribute__((vector_size(64), may_alias));
constexpr int64_t kLanes = kFourierAvx512.lanes;
#include "ops/shared/fourier_passes-inl.h"

} // namespace
} // namespace fourier_lanes_avx512

void fourier_avx512(const Fourier& plan,
                    const FourierLines<float>& lines,
                    int64_t first,
                    int64_t count,
                    double* work) {
  fourier_lanes_avx512::transform_some(plan, lines, first, count, work);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
