// SPDX-License-Identifier: Apache-2.0
// The training loop.
#pragma once

#include "octet/train.h"

namespace octet::train {

/// See TrainApi::train.
Result<TrainedModel> train_graph(const Graph& graph,
                                 const Dataset& examples,
                                 const Dataset* validation,
                                 const TrainOptions& options);

/// An error names the option that makes no sense.
Status check_options(const TrainOptions& options);

/// What a run is, one fact a line: two runs with the same text compute the same.
std::string run_identity(const Graph& graph,
                         const Dataset& examples,
                         const Dataset* validation,
                         const TrainOptions& o,
                         int threads);

} // namespace octet::train
