// SPDX-License-Identifier: Apache-2.0
// What a page is told of nodes and of codes, as JSON.
#pragma once

#include <string>
#include <vector>

#include "ops/qdq/grid.h"
#include "report/graph_view.h"
#include <nlohmann/json.hpp>

namespace octet::view {

/// A long text cut between two characters.
std::string clipped(std::string text);
/// Pairs of a name and a text.
nlohmann::ordered_json attributes_json(const Node& node);
nlohmann::ordered_json finding_json(const Finding& finding);
/// What explain and check say of a node on one target.
nlohmann::ordered_json on_target(const GraphView::Node& node);
nlohmann::ordered_json grid_json(const qdq::Grid& grid);

/// Of a number that is shown: six digits.
double shown(double number);

} // namespace octet::view
