// SPDX-License-Identifier: Apache-2.0
// Shapes of NumPy's matmul: a vector gets an axis of size 1 that the result loses again.
#include "ops/shared/matrix_product.h"

#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet {

Result<std::optional<std::vector<Dim>>> matmul_shape(const TypeInfo& a, const TypeInfo& b) {
  using Dims = std::optional<std::vector<Dim>>;
  if (!a.has_rank() || !b.has_rank()) return Dims();
  if (a.rank() == 0 || b.rank() == 0) return Error("a product with a scalar; use Mul");
  std::vector<Dim> left = *a.shape, right = *b.shape;
  if (a.rank() == 1) left.insert(left.begin(), Dim(1));
  if (b.rank() == 1) right.emplace_back(1);
  OCTET_TRY(merge_dims(left.back(), right[right.size() - 2], "inner sizes of the product"));
  const Dim rows = left[left.size() - 2], columns = right.back();
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  const std::vector<Dim> leading[] = {std::move(left), std::move(right)};
  std::vector<Dim> out = OCTET_TRY(broadcast_dims(leading));
  if (a.rank() > 1) out.push_back(rows);
  if (b.rank() > 1) out.push_back(columns);
  return Dims(std::move(out));
}

MatmulSizes matmul_sizes(std::span<const int64_t> a, std::span<const int64_t> b) {
  MatmulSizes s;
  Shape left = a.size() == 1 ? Shape{1, a[0]} : Shape(a.begin(), a.end());
  Shape right = b.size() == 1 ? Shape{b[0], 1} : Shape(b.begin(), b.end());
  s.m = left[left.size() - 2];
  s.k = left.back();
  s.n = right.back();
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  Shape batch(std::max(left.size(), right.size()), 1);
  for (size_t i = 0; i < batch.size(); ++i) {
    const size_t back = batch.size() - i;
    const int64_t l = back <= left.size() ? left[left.size() - back] : 1;
    const int64_t r = back <= right.size() ? right[right.size() - back] : 1;
    batch[i] = l == 1 ? r : l;
  }
  s.a_offsets = broadcast_index(left, batch);
  s.b_offsets = broadcast_index(right, batch);
  for (int64_t& o : s.a_offsets)
    o *= s.m * s.k;
  for (int64_t& o : s.b_offsets)
    o *= s.k * s.n;
  return s;
}

Result<std::vector<int64_t>>
centered_operand(const Tensor& values, const Tensor& zero, MatrixSide side) {
  auto out = OCTET_TRY(values.to_ints());
  if (zero.empty()) return out;
  const auto zeros = OCTET_TRY(zero.to_ints());
  Shape from = zero.shape();
  if (zero.count() == 1) {
    from.clear();
  } else if (zero.rank() == 1 && side == MatrixSide::kLeft && values.rank() > 1) {
    from.push_back(1); // one for each row
  }
  const Shape shapes[] = {values.shape(), from};
  const auto common = OCTET_TRY(broadcast_shapes(shapes));
  if (common != values.shape())
    return error("zero points of shape {} for an operand of shape {}; give one, or one for each {}",
                 to_string(zero.shape()), to_string(values.shape()),
                 side == MatrixSide::kLeft ? "row" : "column");
  const auto index = broadcast_index(from, values.shape());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] -= zeros[static_cast<size_t>(index[i])];
  return out;
}

template <class T>
void multiply_add(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* y) {
  constexpr int64_t kTogether = 4; // terms added to a sum while it is in a register
  for (int64_t i = 0; i < m; ++i, a += k, y += n) {
    int64_t p = 0;
    for (; p + kTogether <= k; p += kTogether) {
      const T a0 = a[p], a1 = a[p + 1], a2 = a[p + 2], a3 = a[p + 3];
      const T *b0 = b + p * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
      for (int64_t j = 0; j < n; ++j)
        y[j] = (((y[j] + a0 * b0[j]) + a1 * b1[j]) + a2 * b2[j]) + a3 * b3[j];
    }
    for (; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        y[j] += a[p] * b[p * n + j];
  }
}

template void multiply_add(int64_t, int64_t, int64_t, const double*, const double*, double*);
template void multiply_add(int64_t, int64_t, int64_t, const int64_t*, const int64_t*, int64_t*);
template void multiply_add(int64_t, int64_t, int64_t, const uint64_t*, const uint64_t*, uint64_t*);

} // namespace octet
