// SPDX-License-Identifier: Apache-2.0
// Elements and slices at indices that are known at run time only: GatherElements, GatherND,
// ScatterElements, ScatterND. An index counts from the end where it is negative. Whoever meets one
// out of range returns false; the caller finds it in the indices.
#pragma once

#include <cstdint>
#include <vector>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Of int64, else of int32.
struct Indices {
  const void* data = nullptr;
  bool wide = true;
  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i]
                : int64_t{static_cast<const int32_t*>(data)[i]};
  }
};

/// Place i of a tensor of `sizes` (that of the indices) is element base + sum of coordinate *
/// stride + index[i] * along of another, whose axis has `size` elements. Strides count elements.
struct ElementPlaces {
  int64_t width = 4; ///< bytes of an element: 1, 2, 4, 8 or 16
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides; ///< 0 along the axis
  int64_t along = 1;
  int64_t size = 0;
};

/// y[i] = x at place i.
bool gather_elements(
    const ElementPlaces& places, Indices index, const void* x, void* y, ParallelFor& parallel);

/// Rows of coordinates: row r stands for the slice of `run` elements at r / rows_per_batch *
/// batch_stride + sum of its coordinates * strides.
struct SlicePlaces {
  int64_t width = 4;
  int64_t rows = 0;
  int64_t rows_per_batch = 1;
  int64_t batch_stride = 0;
  std::vector<int64_t> sizes; ///< for each coordinate
  std::vector<int64_t> strides;
  int64_t run = 1;
};

/// y[r] = the slice of row r.
bool gather_slices(
    const SlicePlaces& places, Indices index, const void* x, void* y, ParallelFor& parallel);

/// y at place i = updates[i], in order: of equal places the last one stays.
bool scatter_elements(const ElementPlaces& places, Indices index, const void* updates, void* y);
bool scatter_slices(const SlicePlaces& places, Indices index, const void* updates, void* y);

enum class Meet : uint8_t { kAdd, kMul, kMin, kMax };
/// The same, each update meeting what is there. Instantiated for double (NaN stays), int32_t and
/// int64_t (sums and products wrap). Updates are U.
template <typename T, typename U>
bool meet_elements(const ElementPlaces& places, Meet how, Indices index, const U* updates, T* y);
template <typename T, typename U>
bool meet_slices(const SlicePlaces& places, Meet how, Indices index, const U* updates, T* y);

} // namespace octet::kernels
