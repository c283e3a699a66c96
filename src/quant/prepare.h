// SPDX-License-Identifier: Apache-2.0
// The graph that plans speak of: the float graph simplified for inference, with types, written for
// operator set 13 where it came in an older one.
#pragma once

#include "octet/graph.h"

namespace octet {

Result<Graph> prepare_for_quantization(const Graph& graph);

} // namespace octet
