// SPDX-License-Identifier: Apache-2.0
// A model as a viewer shows it: nodes, values, precision, ranges, size and findings, as JSON or as
// a drawing in Graphviz' DOT language.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/checks.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/graph.h"
#include "octet/target.h"

namespace octet {

struct GraphView {
  struct Node {
    std::string name; ///< its own, or that of its first output
    std::string op, domain;
    std::vector<std::string> inputs, outputs; ///< names of values; "" for an omitted one
    std::optional<LayerForm> layer;           ///< of explain; none: no target, Q, DQ or a Constant
    int64_t bytes = 0;                        ///< of the constants that it reads
    int64_t work = 0;                         ///< multiply-adds
    std::vector<Finding> findings;            ///< of check, when there is a target
  };
  struct Value {
    std::string name, kind; ///< "input", "output", "constant" or "node"
    std::string type;       ///< f32[N, 3, 224, 224]
    int64_t bytes = 0;      ///< of a constant
    /// What a quantized value can hold, and the smallest and largest of its scales.
    std::optional<std::pair<double, double>> range, scales;
  };
  std::string name, target; ///< target: empty where none was asked for
  std::vector<Node> nodes;  ///< producers before consumers
  std::vector<Value> values;
  std::vector<PlacedFinding> elsewhere; ///< of the model as a whole, and in bodies
};

/// Errors: an unknown target, a graph whose types do not fit together.
Result<GraphView> view_graph(const Graph& graph, std::string_view target = {});
nlohmann::ordered_json graph_json(const GraphView& view);
/// Nodes filled by precision, Q and DQ as points, edges with their types; nodes with findings have
/// a red border.
std::string view_dot(const GraphView& view);

} // namespace octet
