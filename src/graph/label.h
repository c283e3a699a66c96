// SPDX-License-Identifier: Apache-2.0
// What a node is called where a user reads of it. Many exporters write nodes without names: their
// first output's stands in.
#pragma once

#include <string>

#include "octet/graph.h"

namespace octet {

/// The node's name, or that of its first output. Takes nodes of graphs that are not valid, too.
std::string name_of(const Graph& graph, const Node& node);
/// `Conv "name"`, `com.microsoft.QGemm "name"`.
std::string label(const Graph& graph, const Node& node);

} // namespace octet
