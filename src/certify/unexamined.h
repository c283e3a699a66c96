// SPDX-License-Identifier: Apache-2.0
// What certify says nothing about.
#pragma once

#include <optional>
#include <string>

#include "octet/graph.h"

namespace octet {

/// Why a node that is none of the products in known forms may hold such a product all the same: its
/// bodies, operators of other domains on codes. Nullopt: it holds none.
std::optional<std::string> may_multiply_codes(const Graph& graph, const Node& node);

} // namespace octet
