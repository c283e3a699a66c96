// SPDX-License-Identifier: Apache-2.0
// What the operators before a value say of its numbers, whatever the inputs of the graph are.
#pragma once

#include "octet/graph.h"
#include "octet/observer.h"

namespace octet {

/// By the operators' range facets, up to a few dozen nodes back; [-inf, inf] where they say
/// nothing. Holds for every number, not for NaN.
Range range_of(const Graph& graph, ValueId value);

} // namespace octet
