// SPDX-License-Identifier: Apache-2.0
// The coordinates of the elements that are not zero, counted first and written then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

struct NonZeroArgs {
  std::span<const int64_t> shape;
  int64_t width = 1;     ///< bytes of an element, 1, 2, 4 or 8
  bool is_float = false; ///< -0 is zero, NaN is not
  const std::byte* x = nullptr;
};

/// Elements are looked at in so many parts.
int64_t nonzero_parts(const NonZeroArgs& args);
/// counts: how many of each part are not zero.
void count_nonzero(const NonZeroArgs& args, std::span<int64_t> counts, ParallelFor& parallel);
/// y: [rank, found], where found is the sum of those counts; in the order of elements.
void write_nonzero(const NonZeroArgs& args,
                   std::span<const int64_t> counts,
                   int64_t* y,
                   ParallelFor& parallel);

} // namespace octet::kernels
