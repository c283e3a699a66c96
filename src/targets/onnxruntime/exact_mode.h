// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's exact mode (session.x64quantprecision).
#pragma once

#include "octet/graph.h"

namespace octet {

/// Whether it codes the int8 weight that this DQ reads as uint8.
bool becomes_uint8(const Graph& graph, const Node& node);

} // namespace octet
