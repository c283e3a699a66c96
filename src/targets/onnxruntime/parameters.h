// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of one element in a shape that ONNX Runtime does not take there.
#pragma once

#include <cstddef>
#include <vector>

#include "octet/graph.h"

namespace octet {

struct TargetDef;

/// Inputs of a node on codes that hold one scale or zero point and have more axes than its kernel
/// or its shape inference allows: the file fails to load or to run. Empty for any other node.
std::vector<size_t> onnxruntime_shaped_parameters(const Graph& graph, const Node& node);

/// The Q and DQ around an Add, Mul or AveragePool that are fused with it, whose one scale or zero
/// point has an axis, which the fused kernel does not take. Empty for any other node.
std::vector<NodeId> onnxruntime_shaped_around(const Graph& graph,
                                              const Uses& uses,
                                              const TargetDef& target,
                                              const Node& node);

} // namespace octet
