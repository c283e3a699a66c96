// SPDX-License-Identifier: Apache-2.0
// Which parameters decay.
#pragma once

#include <vector>

#include "ops/parameters.h"
#include "train/executor/program.h"

#include "octet/train.h"

namespace octet::train {

/// The groups of a run, by the rule of OptimizerOptions, and the decay of each trained constant.
struct Groups {
  std::vector<ParameterGroup> list;
  std::vector<double> decay; ///< for each of Program::trained
};

/// Errors: a pattern of `no_decay` that matches nothing that is trained.
Result<Groups> parameter_groups(const Graph& graph,
                                const std::vector<Parameter>& parameters,
                                const std::vector<Program::Trained>& trained,
                                const OptimizerOptions& options);

} // namespace octet::train
