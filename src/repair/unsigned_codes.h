// SPDX-License-Identifier: Apache-2.0
// int8 codes as uint8 ones, the zero point 128 more: the same values, bit for bit.
#pragma once

#include <optional>
#include <span>

#include "graph/patch.h"

namespace octet {

/// Of the codes that `quantize` makes; `readers` are their uses. Nullopt where they are no int8
/// with one constant scale, are an output of the graph, or are read by anything but such DQ.
std::optional<Patch>
unsigned_codes(const Graph& graph, const Node& quantize, std::span<const Uses::Use> readers);

} // namespace octet
