// SPDX-License-Identifier: Apache-2.0
// Whether anyone would notice that a tensor is narrower than it was.
#pragma once

#include "graph/live_uses.h"

namespace octet {

/// Whether the graph computes the same when `value`, which holds the same along some axes, has
/// sizes of 1 there: each use is by a node that broadcasts it to what the result is anyway, or that
/// passes it on to such nodes. False for a graph output. Types must be inferred.
bool only_broadcast(const Graph& graph, const Uses& uses, ValueId value);

/// Whether both shapes are known and equal, open sizes by their symbols.
bool same_shape(const TypeInfo& a, const TypeInfo& b);

} // namespace octet
