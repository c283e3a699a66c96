// SPDX-License-Identifier: Apache-2.0
// Which codes a tensor of 8-bit codes can hold.
#pragma once

#include "ops/qdq/int16_pairs.h"

#include "octet/graph.h"

namespace octet {

/// As uint8, `offset` added (128 for int8). What a Relu, Clip, Sigmoid, ... before Q bounds, and a
/// Clip of the codes; through what only moves codes. All codes where nothing is known.
CodeSpan code_bounds(const Graph& graph, ValueId codes, int32_t offset);

} // namespace octet
