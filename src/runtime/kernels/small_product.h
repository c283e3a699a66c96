// SPDX-License-Identifier: Apache-2.0
// Float products of few numbers each, as rotations and capsules are: without tiles and packing, which
// would take longer than they do. Bits of sgemm_scalar.cc.
#pragma once

#include <cstdint>

#include "runtime/kernels/sgemm.h"

namespace octet::kernels {

/// Whether m x k times k x n is such a product. Of no k there are no weights.
inline bool is_small_product(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kMost = 512;
  return k > 0 && m <= kMost && n <= kMost && k <= kMost && m * n * k <= kMost;
}

/// Products `begin` to `end` of a batch.
using SmallProductFn = void (*)(const BatchedSgemmArgs& args, int64_t begin, int64_t end);
/// Null: there is none for this instruction set.
SmallProductFn small_product(Isa isa);

} // namespace octet::kernels
