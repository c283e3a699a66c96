// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `engine` share: opening engines, and showing what one made of a model
// beside what explain predicted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/engine.h"
#include "octet/graph.h"

namespace octet::cli {

/// The target of a flag, or where that is empty the rules of a TensorRT's version ("10.1.0"); of
/// its newest known one where octet does not know the version.
Result<std::string> engine_target(const std::string& flag, const std::string& version);

/// An engine that was built from this model. Errors name the file.
Result<std::unique_ptr<Engine>>
open_engine(EngineApi& api, const std::string& file, const Graph& graph);

struct EngineReport {
  std::string model, target;
  std::vector<LayerForm> predicted;
  std::vector<EngineLayer> layers;
  std::vector<EngineNode> nodes;
  std::vector<LayerTime> times; ///< may be empty
};

/// `layers` is the inspector's JSON.
Result<EngineReport> make_engine_report(const Graph& graph,
                                        const std::string& model,
                                        const std::string& target,
                                        const std::string& layers);

nlohmann::ordered_json report_json(const EngineReport& report);

enum class ShowNodes { kAll, kOtherwise };
/// Nodes with predicted and real precision, and how many are as predicted.
std::string nodes_text(const EngineReport& report, ShowNodes which);
/// The engine's layers, slowest first.
std::string times_text(const EngineReport& report);

} // namespace octet::cli
