// SPDX-License-Identifier: Apache-2.0
// The graph that plans speak of: the float graph simplified for inference, with types.
#pragma once

#include "octet/graph.h"

namespace octet {

Result<Graph> prepare_for_quantization(const Graph& graph);

} // namespace octet
