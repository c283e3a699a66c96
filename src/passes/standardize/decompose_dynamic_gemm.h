// SPDX-License-Identifier: Apache-2.0
// octet's dynamic product in ONNX's operators, for runtimes that do not know octet.native.
#pragma once

#include <optional>
#include <span>

#include "graph/patch.h"

namespace octet {

/// `uses_of_x`: who reads the product's input. Nullopt: another operator, or weights that are
/// computed.
std::optional<Patch>
decompose_dynamic_gemm(const Graph& graph, const Node& node, std::span<const Uses::Use> uses_of_x);

} // namespace octet
