// SPDX-License-Identifier: Apache-2.0
// The three parts of a data set that a search uses: for ranges, for its decisions, and held out of
// both for the last word.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/model_data.h"

#include "octet/dataset.h"
#include "octet/graph.h"

namespace octet::cli {

struct OptimizeCounts {
  int64_t calibration = 512, search = 2000, held_out = 4000; ///< at most
};

struct OptimizeData {
  std::shared_ptr<const Dataset> calibration, search, held_out;
  std::string training, test; ///< where they are from
  bool labelled = false;
};

/// No example is in two parts, and each is spread evenly over what it is taken from. Ranges come
/// from the data's training part, the others from its test part, so that no network is judged by
/// what it learned; where both parts are the same, or `training_alone`, all come from one. A network
/// that takes batches of a fixed size gets whole ones. Errors: as open_model_data, too few examples.
Result<OptimizeData> open_optimize_data(const ModelData& data,
                                        const OptimizeCounts& counts,
                                        bool training_alone,
                                        const Graph& graph,
                                        const std::string& model,
                                        const Common& common);

} // namespace octet::cli
