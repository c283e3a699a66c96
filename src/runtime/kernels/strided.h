// SPDX-License-Identifier: Apache-2.0
// Copies between strided views of any rank: Transpose, Slice, Expand, Concat, Split and most Tiles
// are nothing else. Gathering of rows by index.
#pragma once

#include <cstdint>
#include <vector>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Element (i, j, ...) of `sizes` goes from x + from_start + i * from[0] + ... to y + to_start +
/// ...; strides in elements, of any sign or 0 for x.
struct StridedCopy {
  int64_t width = 4; ///< bytes of an element: 1, 2, 4, 8 or 16
  std::vector<int64_t> sizes;
  std::vector<int64_t> from;
  std::vector<int64_t> to;
  int64_t from_start = 0;
  int64_t to_start = 0;
};

/// The same copy with axes of size 1 left out and neighbours joined where they run on. Elements
/// that are repeated often are lines of one element.
StridedCopy simplified(const StridedCopy& copy);

/// Whether a simplified copy repeats elements or lines so often that it is done in whole.
bool repeats(const StridedCopy& copy);

void copy_strided(const StridedCopy& copy, const void* x, void* y, ParallelFor& parallel);

/// y[o, i, :] = x[o, index[i], :]: `outer` blocks of `size` rows of `row_bytes`. A negative index
/// counts from the end. Returns false, with nothing but zeros in its place, for an index out of
/// range.
struct GatherArgs {
  int64_t outer = 1;
  int64_t size = 0;
  int64_t row_bytes = 0;
  int64_t count = 0; ///< of indices
  const void* x = nullptr;
  const void* index = nullptr;
  bool wide = true; ///< indices are int64, else int32
  void* y = nullptr;
};
bool gather_rows(const GatherArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
