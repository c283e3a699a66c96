// SPDX-License-Identifier: Apache-2.0
// What is said of an index out of range that a kernel met.
#pragma once

#include <span>

#include "core/format.h"
#include "runtime/kernels/pick.h"

namespace octet::runtime {

/// An error with the first index out of range among `count`; `sizes` of dimensions take turns.
inline Error out_of_range(kernels::Indices index, int64_t count, std::span<const int64_t> sizes) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = sizes[static_cast<size_t>(i) % sizes.size()];
    if (index[i] < -size || index[i] >= size)
      return error("index {} out of range for a dimension of {}; use {} to {}", index[i], size,
                   -size, size - 1);
  }
  return error(ErrorCode::kInternal, "an index out of range was not found again");
}

} // namespace octet::runtime
