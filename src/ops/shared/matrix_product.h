// SPDX-License-Identifier: Apache-2.0
// What MatMul, MatMulInteger and QLinearMatMul share: NumPy's matmul shapes and the reference loop.
#pragma once

#include "ops/op.h"

namespace octet {

/// The output shape of a @ b, nullopt when a rank is unknown. Errors: scalars, inner sizes or
/// leading dimensions that do not fit.
Result<std::optional<std::vector<Dim>>> matmul_shape(const TypeInfo& a, const TypeInfo& b);

/// One product of matrices for each entry of the broadcast leading dimensions.
struct MatmulSizes {
  int64_t m = 1, n = 1, k = 1;
  std::vector<int64_t> a_offsets, b_offsets; ///< elements before each matrix, in output order
};
/// For shapes that matmul_shape accepted.
MatmulSizes matmul_sizes(std::span<const int64_t> a, std::span<const int64_t> b);

enum class MatrixSide { kLeft, kRight };
/// values - zero, exactly. The zero point is one number, one for each row of the left operand, one
/// for each column of the right one, or broadcasts; empty() stands for 0. Errors: another shape.
Result<std::vector<int64_t>>
centered_operand(const Tensor& values, const Tensor& zero, MatrixSide side);

/// y[m, n] += a[m, k] @ b[k, n], row-major; each sum in the order of k. T: double, int64_t or
/// uint64_t.
template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* y);

template <class T>
std::vector<T> matmul(const MatmulSizes& s, const T* a, const T* b) {
  std::vector<T> y(s.a_offsets.size() * static_cast<size_t>(s.m * s.n));
  for (size_t i = 0; i < s.a_offsets.size(); ++i)
    multiply_add(s.m, s.n, s.k, a + s.a_offsets[i], b + s.b_offsets[i],
                 y.data() + i * static_cast<size_t>(s.m * s.n));
  return y;
}

} // namespace octet
