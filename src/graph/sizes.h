// SPDX-License-Identifier: Apache-2.0
// How large a model is, and how large the batches are that it takes.
#pragma once

#include <cstdint>
#include <optional>

#include "octet/graph.h"

namespace octet {

/// Of every constant, those of subgraphs included.
int64_t constant_bytes(const Graph& graph);

/// A model whose constants take more than this leaves them in the file that they are mapped from:
/// they are neither folded into new large ones nor copied into a runtime's own layout.
inline constexpr int64_t kLargeConstantBytes = int64_t{3} << 29;

/// The first dimension of the first input that has one, where the graph fixes it; where it is free,
/// 1 if the graph fixes that for another input. What other numbers others have is no batch: states
/// have layers and directions there.
std::optional<int64_t> fixed_batch(const Graph& graph);

} // namespace octet
