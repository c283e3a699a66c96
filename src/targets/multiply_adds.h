// SPDX-License-Identifier: Apache-2.0
// How much a layer computes, to weigh layers against one another.
#pragma once

#include "octet/graph.h"

namespace octet {

/// Multiply-adds of a product (Conv, ConvTranspose, Gemm, MatMul and their integer forms) for the
/// shapes of the graph; dimensions that are not known count as 1, other operators as 0. Saturates.
int64_t multiply_adds(const Graph& graph, const Node& node);

} // namespace octet
