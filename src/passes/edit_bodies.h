// SPDX-License-Identifier: Apache-2.0
// Changing the bodies of If, Loop and Scan.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "octet/graph.h"

namespace octet {

/// Names of the values of one graph, and of those around it.
struct TakenNames {
  std::set<std::string, std::less<>> own;
  const TakenNames* around = nullptr;

  bool contains(std::string_view name) const;
};
TakenNames names_of(const Graph& graph, const TakenNames* around);
/// Gives a value another name where its own is among `taken` (a body's must not hide one of the
/// graphs around it).
void keep_apart(Graph& graph, ValueId id, const TakenNames& taken);

/// Forgets captures that no body of the node uses; returns whether there were any.
bool drop_unused_captures(Graph& graph, NodeId id);

/// Called with a body standing alone (ops/infer.h), the path to what stands in it ("loop/body/")
/// and the names of the graphs around it. False: the body stays as it was.
using EditBody =
    std::function<Result<bool>(Graph& body, const std::string& path, const TakenNames& around)>;

/// Edits every body of every node of `graph`, which stands at `path` with the names `around` it. A
/// constant that a body captures counts as one in there and stays where it is; new values get names
/// that none of the graphs around has; operator sets that a body needs are imported. Returns
/// whether any node captures less than before. Errors: those of `edit`, with the path.
Result<bool>
edit_bodies(Graph& graph, const std::string& path, const TakenNames* around, const EditBody& edit);

} // namespace octet
