// SPDX-License-Identifier: Apache-2.0
// The graphs in the attributes of a node: the bodies of If, Loop and Scan, and lists of graphs,
// which operators of other domains may have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

struct Body {
  const std::string& key; ///< of the attribute: "then_branch"
  const GraphPtr& graph;
};
struct MutableBody {
  const std::string& key;
  GraphPtr& graph;
};

/// In the order of the attributes; valid until they change.
std::vector<Body> bodies_of(const Node& node);
std::vector<MutableBody> bodies_of(Node& node);
bool has_bodies(const Node& node);

/// Makes of every captured value what `to` has for it, in the list of captures and in the bodies;
/// what `to` lacks stays.
void recapture(Node& node, const std::map<ValueId, ValueId>& to);

/// Makes `to` of every use of `from` by this node, also in its bodies.
void replace_uses(Node& node, ValueId from, ValueId to);

} // namespace octet
