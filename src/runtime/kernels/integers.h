// SPDX-License-Identifier: Apache-2.0
// Arithmetic on integers that broadcast by NumPy's rule. Sums, differences and products wrap.
#pragma once

#include <cstdint>

#include "runtime/kernels/broadcast.h"

namespace octet::kernels {

enum class IntegerOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,       ///< towards zero; by 0 it is 0
  kMod,       ///< the sign of the divisor; modulo 0 it is 0
  kRemainder, ///< the sign of the dividend; modulo 0 it is 0
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,  ///< of the bits as they stand; by the width or more it is 0
  kShiftRight, ///< the same, zeros come in
};

/// Sums, differences, products, bits and shifts are those of unsigned types of the same width too.
/// Instantiated for int32_t, int64_t, int8_t and uint8_t.
template <typename T>
void integers_broadcast(
    IntegerOp op, const BroadcastPlan& plan, const T* a, const T* b, T* y, ParallelFor& parallel);

enum class IntegerUnary : uint8_t { kNeg, kAbs, kNot };
/// The least integer stays what it is. Instantiated for int32_t, int64_t and
/// int8_t.
template <typename T>
void integers(IntegerUnary op, const T* x, int64_t count, T* y, ParallelFor& parallel);

} // namespace octet::kernels
