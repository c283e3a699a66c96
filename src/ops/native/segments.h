// SPDX-License-Identifier: Apache-2.0
// Sequences one behind the other: rows [offsets[i], offsets[i + 1]) are those of sequence i.
#pragma once

#include <span>

#include "ops/shared/types.h"

namespace octet::native {

/// Errors: offsets that do not begin with 0, do not ascend by at least 1, or do not end with `rows`.
Status check_offsets(std::span<const int64_t> offsets, int64_t rows);
/// Input `i` is i64 [sequences + 1], as far as is known.
Status check_offsets_input(const InferContext& context, size_t i);
/// The elements of such an input. Errors: check_offsets.
Result<std::vector<int64_t>> read_offsets(const Tensor& offsets, int64_t rows);

} // namespace octet::native
