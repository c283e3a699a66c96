// SPDX-License-Identifier: Apache-2.0
// The hierarchy that a picture is drawn by: nodes by the paths that their names are, those of bodies
// (of If, Loop, Scan) in a group of the node that has them, and where names carry nothing by
// stretches of the order in which they run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet::view {

/// What one drawing holds at most, its ports included.
inline constexpr size_t kMostBoxes = 200;
/// Of which so many may be ports.
inline constexpr size_t kMostPorts = 24;

struct Group {
  std::string name;             ///< within its parent
  int32_t parent = -1;          ///< of the root
  std::vector<int32_t> members; ///< nodes, and ~g for group g; in the order in which they run
  int64_t nodes = 0;            ///< in it and below
  int32_t node = -1;            ///< of a group that is a node with its bodies: that node, a member
};

/// Of a member that is a group.
inline size_t index_of_group(int32_t member) {
  const int32_t group = ~member;
  return static_cast<size_t>(group);
}

struct Groups {
  std::vector<Group> groups;   ///< the root first, parents before what is in them
  std::vector<int32_t> parent; ///< of each node; -1: it is drawn nowhere
};

struct NamedNode {
  std::string_view path, op;
  bool drawn = true;
  int32_t scope = -1; ///< the body that it stands in; -1: the graph itself
};

/// A body of a node.
struct Scope {
  int32_t node = -1;
  std::string name; ///< the attribute's: "then_branch"; of a list "branches[1]"
  std::string key;  ///< names of nodes and bodies around what is in it
};

/// The parts of a name between slashes and dots, without the last; a number belongs to the part
/// before it: "enc/layer.0/attn.q/MatMul" is enc, layer.0, attn, q.
std::vector<std::string> path_of(std::string_view name);

/// `nodes` in an order in which they can run, behind them those of bodies; nodes before what is in
/// their bodies. `edges` between them by index.
Groups make_groups(std::span<const NamedNode> nodes,
                   std::span<const Scope> scopes,
                   std::span<const std::pair<int32_t, int32_t>> edges);

} // namespace octet::view
