// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions, bit for bit those of core/numerics/math.h.
#pragma once

#include <cstdint>

#include "core/cpu.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

enum class Unary : uint8_t { kExp, kErf, kTanh, kSigmoid, kGelu, kGeluTanh, kRelu };

/// y[i] = f(x[i]); y may be x.
void unary(Unary f, const float* x, int64_t count, float* y, Isa isa, ParallelFor& parallel);

void unary_scalar(Unary f, const float* x, int64_t count, float* y);
void unary_avx2(Unary f, const float* x, int64_t count, float* y);
void unary_avx512(Unary f, const float* x, int64_t count, float* y);

enum class Binary : uint8_t { kAdd, kSub, kMul, kDiv };

/// y[i] = a[i] op b[i % period]: period is `count` for equal shapes, the row length for a broadcast
/// row, 1 for a scalar. y may be a.
void binary(Binary op,
            const float* a,
            const float* b,
            int64_t count,
            int64_t period,
            float* y,
            Isa isa,
            ParallelFor& parallel);

} // namespace octet::kernels
