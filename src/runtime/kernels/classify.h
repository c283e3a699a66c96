// SPDX-License-Identifier: Apache-2.0
// Which floats are of a kind: 1 where one is, else 0.
#pragma once

#include <cstdint>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

enum class FloatClass : uint8_t { kNone, kNan, kInfinite, kPositiveInfinite, kNegativeInfinite };

void classify(FloatClass of, const float* x, int64_t count, uint8_t* y, ParallelFor& parallel);

} // namespace octet::kernels
