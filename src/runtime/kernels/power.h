// SPDX-License-Identifier: Apache-2.0
// Powers by any exponent. Those by 2, 3, 0.5 and -1 are programs with the same bits (map.h).
#pragma once

#include <cstdint>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// y[i] = std::pow in double, rounded once; y may be x. No vectors: it is the C library's.
void power(const float* x, int64_t count, double exponent, float* y, ParallelFor& parallel);

} // namespace octet::kernels
