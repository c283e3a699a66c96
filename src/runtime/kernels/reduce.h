// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes, bit for bit those of src/ops/onnx/reduction: the elements that fall
// together are taken in their order, one after the other; sums and products of floats are kept in
// double and rounded once, those of integers wrap. The best of codes is taken in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cpu.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Over nothing: what the operators say (0, NaN, 1, the lowest and the highest value, ...). NaN wins
/// over every number; of equal elements the first one is taken, which tells 0 from -0.
enum class Reduce : uint8_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kProduct,
  kSumSquare,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
};

/// Axes of a dense tensor, with strides in elements; none is of size 1 but a lone one.
struct AxisList {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// One output for each place along the axes that are kept, of what lies along those that go. Each
/// list has one axis or more.
struct ReducePlan {
  AxisList kept;
  AxisList gone;
};

/// Axes of size 1 are left out and neighbours joined. `reduced` says for each axis whether it goes.
ReducePlan plan_reduce(std::span<const int64_t> shape, const std::vector<bool>& reduced);

void reduce(
    Reduce op, const ReducePlan& plan, const float* x, float* y, Isa isa, ParallelFor& parallel);

/// kSum, kMax, kMin, kProduct, kSumSquare or kL1. Instantiated for int32_t and int64_t.
template <typename T>
void reduce_integers(Reduce op, const ReducePlan& plan, const T* x, T* y, ParallelFor& parallel);

enum class Best : uint8_t { kLargest, kSmallest };

/// The best of codes; over nothing the worst one. Instantiated for int8_t and uint8_t.
template <typename T>
void reduce_bytes(
    Best best, const ReducePlan& plan, const T* x, T* y, Isa isa, ParallelFor& parallel);

/// Outputs that vector forms make at once. Each goes on with the partial results that it is given.
inline constexpr int64_t kReduceLanes = 16;
enum class Term : uint8_t { kItself, kSquare, kMagnitude };
using SumRun = void(Term term, const float* x, int64_t stride, int64_t n, double* partials);
using BestRun = void(Best best, const float* x, int64_t stride, int64_t n, float* partials);
/// n lines of outputs that lie beside each other, `stride` apart.
SumRun sum_lines_avx2, sum_lines_avx512;
BestRun best_lines_avx2, best_lines_avx512;
/// A row of n elements for each output, `stride` apart.
SumRun sum_rows_avx2, sum_rows_avx512;
BestRun best_rows_avx2, best_rows_avx512;
/// One row that lies side by side, going on with `partial`.
using BestRow = float(Best best, const float* x, int64_t n, float partial);
BestRow best_row_avx2, best_row_avx512;

/// What an instruction set supplies for codes.
template <typename T>
struct ByteBests {
  /// n lines `stride` apart; y[columns] goes on.
  void (*lines)(Best best, const T* x, int64_t stride, int64_t n, int64_t columns, T* y);
  /// n codes side by side, going on with `partial`.
  T (*row)(Best best, const T* x, int64_t n, T partial);
};
struct BestKernels {
  ByteBests<int8_t> of_i8;
  ByteBests<uint8_t> of_u8;
};
BestKernels best_kernels_scalar();
BestKernels best_kernels_avx2();
BestKernels best_kernels_avx512();

} // namespace octet::kernels
