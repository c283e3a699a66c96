// SPDX-License-Identifier: Apache-2.0
// Tensors that broadcast by NumPy's rule: the loops over them, choices, comparisons and logic.
// Functions of floats are programs (map.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Loops over the output: sizes, and the strides of up to three inputs in elements (0 where they
/// repeat). The last axis of each input has stride 1 or 0. The output is dense.
struct BroadcastPlan {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides; ///< for each input
};

/// Axes of size 1 are left out, neighbours joined where all inputs run on or all repeat.
BroadcastPlan plan_broadcast(std::span<const std::vector<int64_t>> inputs,
                             std::span<const int64_t> output);

/// y = condition (bytes, not 0) ? a : b. Instantiated for unsigned integers of 1, 2, 4 and 8 bytes.
template <typename T>
void where_broadcast(const BroadcastPlan& plan,
                     const uint8_t* condition,
                     const T* a,
                     const T* b,
                     T* y,
                     ParallelFor& parallel);

enum class Compare : uint8_t { kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
/// y = 1 where it holds, else 0. Instantiated for float, int32_t, int64_t, uint8_t and
/// int8_t.
template <typename T>
void compare_broadcast(Compare op,
                       const BroadcastPlan& plan,
                       const T* a,
                       const T* b,
                       uint8_t* y,
                       ParallelFor& parallel);

enum class Logic : uint8_t { kAnd, kOr, kXor };
/// Of truth values, bytes that are not 0; y = 1 where it holds, else 0.
void logic_broadcast(Logic op,
                     const BroadcastPlan& plan,
                     const uint8_t* a,
                     const uint8_t* b,
                     uint8_t* y,
                     ParallelFor& parallel);

} // namespace octet::kernels
