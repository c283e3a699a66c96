// SPDX-License-Identifier: Apache-2.0
// Constant operands of products whose other operand is quantized when they run, as QScaledGemm
// takes them.
#pragma once

#include <optional>

#include "octet/graph.h"

namespace octet::lowering {

/// Sums of more terms might not fit 32 bits.
inline constexpr int64_t kMostScaledTerms = 65536;

/// Whether every size is known to be 1.
bool has_one_element(const Graph& graph, ValueId id);

/// The constant with one float, or one for each of n columns; else null.
const Tensor* scales_of(const Graph& graph, ValueId id, int64_t n);

/// Codes [N, K] around 0 of weights [K, N] with a zero point for all or one a column (null: 0): i8,
/// or i16 as products take them; nullopt where that does not hold them.
std::optional<Tensor> turned_weights(const Tensor& w, const Tensor* zero);

} // namespace octet::lowering
