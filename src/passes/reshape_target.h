// SPDX-License-Identifier: Apache-2.0
// Reshape targets: shapes as far as inference knows them, written with 0 (as in x) and -1 (the
// rest).
#pragma once

#include <optional>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// The constant shape input that reshapes `x` to `wanted`; nullopt when more than one size is
/// neither constant nor the one of x at the same place, or one is 0.
std::optional<std::vector<int64_t>> reshape_target(const TypeInfo& x,
                                                   const std::vector<Dim>& wanted);

/// Whether the node gives its first input's elements in the same order under another shape:
/// Reshape, Flatten, Squeeze, Unsqueeze.
bool only_reshapes(const Node& node);

} // namespace octet
