// SPDX-License-Identifier: Apache-2.0
// What a training run is: two runs of the same identity compute the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/train.h"

namespace octet::train {

struct RunIdentity {
  std::vector<RunSetting> decides;  ///< what the run computes follows from these
  std::vector<RunSetting> explains; ///< TrainOptions::settings: what these come from
  uint64_t data_hash = 0;           ///< dataset_hash of the examples; 0: nobody compares it

  std::string text() const; ///< of what decides
};

RunIdentity run_identity(const Graph& graph,
                         const Dataset& examples,
                         const Dataset* validation,
                         const TrainOptions& o,
                         int threads);

/// Why a run does not go on from the checkpoint of another: the setting that differs, with both
/// values, and the ways out. Empty: what decides is the same.
std::string difference(const RunIdentity& ours, const RunIdentity& theirs);

} // namespace octet::train
