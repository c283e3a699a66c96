// SPDX-License-Identifier: Apache-2.0
// Changing the bodies of one If, Loop or Scan node.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "octet/graph.h"

namespace octet {

using NameSet = std::set<std::string, std::less<>>;

/// `names` and those of the graph's values.
NameSet with_names_of(const Graph& graph, NameSet names);
/// Gives a value another name where its own is among `taken` (a body's must not hide one of the
/// graphs around it).
void keep_apart(Graph& graph, ValueId id, const NameSet& taken);

/// Forgets captures that no body of the node uses; returns whether there were any.
bool drop_unused_captures(Graph& graph, NodeId id);

/// Called with a body standing alone (ops/infer.h), the path to what stands in it ("loop/body/")
/// and the names of the graphs around it. False: the body stays as it was.
using EditBody =
    std::function<Result<bool>(Graph& body, const std::string& path, const NameSet& outer_names)>;

/// Edits every body of a node of `graph`, which stands at `path` with `outer_names` around it. A
/// constant that a body captures counts as one in there and stays where it is; new values get names
/// that none of the graphs around has; operator sets that a body needs are imported. Returns
/// whether the node captures less than before. Errors: those of `edit`, with the path.
Result<bool> edit_bodies(Graph& graph,
                         NodeId id,
                         const std::string& path,
                         const NameSet& outer_names,
                         const EditBody& edit);

} // namespace octet
