// SPDX-License-Identifier: Apache-2.0
// What a page shows of one model or engine: nodes and values with all that is said of each, and the
// edges between them. Q, DQ and constants stand where they belong: at edges and at nodes. Bodies of
// If, Loop and Scan read what they capture where it is made; their inputs are made by the node that
// has them, which reads what they give.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "view/drawing.h"
#include <nlohmann/json.hpp>

#include "octet/engine_layers.h"
#include "octet/graph.h"

namespace octet::view {

struct PictureNode {
  std::string name; ///< its own, or that of its first output
  std::string path; ///< that it is grouped by
  std::string op;
  bool drawn = true;
  std::vector<int32_t> inputs, outputs; ///< values; -1: omitted
  nlohmann::ordered_json
      facts;          ///< for the page (docs/view.md): attributes, precision by target, ...
  int32_t scope = -1; ///< the body that it stands in
};

struct PictureValue {
  std::string name;
  nlohmann::ordered_json facts; ///< type, numbers of its codes, what was measured
};

struct Picture {
  std::string title;
  bool is_engine = false;
  std::vector<std::string> targets; ///< in the order of the nodes' "on"
  std::vector<PictureNode> nodes;   ///< in an order in which they run; behind them those of bodies
  std::vector<Scope> scopes;        ///< bodies, those around others first
  std::vector<PictureValue> values;
  std::vector<Edge> edges;
  std::vector<nlohmann::ordered_json> findings; ///< of the model as a whole, by target; or empty
  /// By name; what is in a body by its scope's key and its name.
  std::map<std::string, int32_t, std::less<>> node_named, value_named;

  std::string key(int32_t scope, const std::string& name) const {
    return scope < 0 ? name : scopes[static_cast<size_t>(scope)].key + name;
  }
};

enum class Codes : uint8_t { kFolded, kDrawn }; ///< Q and DQ

/// Errors: an unknown target, a graph whose types do not fit together.
Result<Picture> picture_of(const Graph& graph,
                           const std::string& title,
                           const std::vector<std::string>& targets,
                           Codes codes);

/// The layers of an engine beside what was predicted for the nodes that they come from.
Picture picture_of(const std::vector<LayerForm>& predicted,
                   const std::vector<EngineLayer>& layers,
                   const std::vector<EngineNode>& nodes,
                   const std::vector<LayerTime>& times,
                   const std::string& title,
                   const std::vector<std::string>& targets);

} // namespace octet::view
