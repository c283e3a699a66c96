// SPDX-License-Identifier: Apache-2.0
// One drawing for each group of a picture: its members, ports for what comes from elsewhere and goes
// there, and their places. Groups of equal structure share one layout.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "view/groups.h"
#include "view/layout.h"

namespace octet::view {

/// A value on its way from the node that makes it to one that reads it.
struct Edge {
  int32_t from = -1;  ///< -1: an input of the graph
  int32_t to = -1;    ///< -1: an output of the graph
  int32_t made = -1;  ///< the value that `from` makes, or the input
  int32_t value = -1; ///< what is read: `made`, or that behind codes
};

/// Boxes of a drawing are members, then ports in, then ports out.
struct Wire {
  int32_t from = 0, to = 0;
  std::vector<int32_t> values; ///< what is read, the first few of `count`
  int64_t count = 0;
};

struct Drawing {
  std::vector<std::vector<int32_t>> in,
      out; ///< values that are made elsewhere, or here; a port each
  std::vector<Wire> wires;
  int32_t layout = -1;
  int32_t alike = -1; ///< the first group of the same structure, itself where there is no other
};

struct Drawings {
  Groups groups;
  std::vector<Drawing> drawings; ///< by group
  std::vector<Layout> layouts;
};

inline constexpr double kBoxWidth = 176, kBoxHeight = 46, kPortWidth = 150, kPortHeight = 24;

Result<Drawings>
draw(std::span<const NamedNode> nodes, std::span<const Scope> scopes, std::span<const Edge> edges);

} // namespace octet::view
