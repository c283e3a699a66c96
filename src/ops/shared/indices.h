// SPDX-License-Identifier: Apache-2.0
// Indices into tensors, as Gather and Scatter and their like take them.
#pragma once

#include "ops/shared/types.h"

namespace octet {

/// The values of an index tensor, each counted from the front. Errors: one lies outside of
/// [-size, size).
Result<std::vector<int64_t>> indices_within(const Tensor& indices, int64_t size);

/// How a scattered update meets what is there.
enum class ScatterReduction { kNone, kAdd, kMul, kMin, kMax };
Result<ScatterReduction> parse_reduction(const Node& node);
/// data with updates[i] put, or reduced in order, at element places[i].
Result<Tensor> scatter(const Tensor& data,
                       const Tensor& updates,
                       std::span<const int64_t> places,
                       ScatterReduction reduction);

/// For each row of `indices` (its last dimension holds coordinates): the element number in `shape`
/// where the slice begins. `batch` leading dimensions are shared.
Result<std::vector<int64_t>>
slice_starts(const Tensor& indices, std::span<const int64_t> shape, int64_t batch);

} // namespace octet
