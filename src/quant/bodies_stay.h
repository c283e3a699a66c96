// SPDX-License-Identifier: Apache-2.0
// What a plan says of If, Loop and Scan.
#pragma once

#include <string>

#include "octet/graph.h"

namespace octet {

/// Why what stands in the bodies of `node` stays in float. Of an If that one input of the graph
/// decides alone: how to keep one branch, whose layers then are the graph's own.
std::string why_bodies_stay(const Graph& graph, const Node& node);

} // namespace octet
