// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/dynamic_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/native/epilogue.h"

namespace octet::lowering {
namespace {

/// A matrix [K, N] of codes and the zero point of each column.
template <class Code>
struct Columns {
  const Code* codes;
  std::vector<int32_t> zeros;
  int64_t k, n;

  int32_t at(int64_t i, int64_t j) const {
    return codes[i * n + j] - zeros[static_cast<size_t>(j)];
  }
  /// The least and the largest element.
  std::pair<int32_t, int32_t> range() const {
    int32_t lo = 0, hi = 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j) {
        lo = std::min(lo, at(i, j));
        hi = std::max(hi, at(i, j));
      }
    return {lo, hi};
  }
  /// [N, K], a tile at a time: whole cache lines are read and written.
  template <class To>
  Tensor turned(DType type) const {
    constexpr int64_t kTile = 64;
    Tensor out = Tensor::zeros(type, {n, k}).value();
    To* const to = out.mutable_data<To>().data();
    for (int64_t i0 = 0; i0 < k; i0 += kTile)
      for (int64_t j0 = 0; j0 < n; j0 += kTile)
        for (int64_t j = j0; j < std::min(j0 + kTile, n); ++j)
          for (int64_t i = i0; i < std::min(i0 + kTile, k); ++i)
            to[j * k + i] = static_cast<To>(at(i, j));
    return out;
  }
  std::optional<Tensor> around_zero() const {
    const auto [lo, hi] = range();
    if (lo >= -128 && hi <= 127) return turned<int8_t>(DType::kInt8);
    if (lo < native::kLeastWideWeight || hi > native::kMostWideWeight || k > kMostScaledTerms / 2)
      return std::nullopt;
    return turned<int16_t>(DType::kInt16);
  }
};

} // namespace

bool has_one_element(const Graph& g, ValueId id) {
  const auto shape = g.value(id).type.static_shape();
  return shape && std::all_of(shape->begin(), shape->end(), [](int64_t d) { return d == 1; });
}

const Tensor* scales_of(const Graph& g, ValueId id, int64_t n) {
  const Tensor* t = g.constant(id);
  const bool fits =
      t != nullptr && t->type() == DType::kFloat32 &&
      (t->count() == 1 || (t->count() == n && t->rank() > 0 && t->shape().back() == n));
  return fits ? t : nullptr;
}

std::optional<Tensor> turned_weights(const Tensor& w, const Tensor* zero) {
  const int64_t k = w.dim(0), n = w.dim(1);
  std::vector<int32_t> zeros(static_cast<size_t>(n), 0);
  if (zero != nullptr) {
    const auto given = zero->to_ints();
    if (!given.ok()) return std::nullopt;
    const auto count = static_cast<int64_t>(given->size());
    if (count != 1 && (count != n || zero->rank() != 1)) return std::nullopt;
    for (size_t j = 0; j < zeros.size(); ++j)
      zeros[j] = static_cast<int32_t>((*given)[count == 1 ? 0 : j]);
  }
  const auto* const bytes = w.bytes().data();
  if (w.type() == DType::kInt8)
    return Columns<int8_t>{reinterpret_cast<const int8_t*>(bytes), std::move(zeros), k, n}
        .around_zero();
  if (w.type() != DType::kUint8) return std::nullopt;
  return Columns<uint8_t>{reinterpret_cast<const uint8_t*>(bytes), std::move(zeros), k, n}
      .around_zero();
}

} // namespace octet::lowering
