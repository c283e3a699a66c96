// SPDX-License-Identifier: Apache-2.0
// The graph that plans speak of: the float graph simplified for inference, with types, written for
// operator set 13 where it came in an older one.
#pragma once

#include "quant/placement.h"

#include "octet/graph.h"

namespace octet {

Result<Graph> prepare_for_quantization(const Graph& graph);
/// And as a target's patterns want it.
Result<Graph> prepare_for_quantization(const Graph& graph, const Placement& placement);

} // namespace octet
