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

} // namespace octet::train
