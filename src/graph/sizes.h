// SPDX-License-Identifier: Apache-2.0
// How large a model is.
#pragma once

#include <cstdint>

#include "octet/graph.h"

namespace octet {

/// Of every constant, those of subgraphs included.
int64_t constant_bytes(const Graph& graph);

/// A model whose constants take more than this leaves them in the file that they are mapped from:
/// they are neither folded into new large ones nor copied into a runtime's own layout.
inline constexpr int64_t kLargeConstantBytes = int64_t{3} << 29;

} // namespace octet
