// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of many lines (ops/shared/fourier.h), several at once in the lanes of vectors:
// bit for bit transform_lines.
#pragma once

#include "core/cpu.h"
#include "ops/shared/fourier.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

void fourier(const Fourier& plan, const FourierLines<float>& lines, Isa isa, ParallelFor& parallel);

/// Lines `first` to first + count - 1 with `work` as scratch memory, aligned to 64.
using SomeLines = void(const Fourier& plan,
                       const FourierLines<float>& lines,
                       int64_t first,
                       int64_t count,
                       double* work);

/// Forms, and how many lines each takes at most at once.
struct FourierForm {
  SomeLines* some = nullptr;
  int64_t lanes = 1;
};

SomeLines fourier_avx2, fourier_avx512;
inline constexpr FourierForm kFourierAvx2{fourier_avx2, 4};
inline constexpr FourierForm kFourierAvx512{fourier_avx512, 8};

} // namespace octet::kernels
