// SPDX-License-Identifier: Apache-2.0
// The torch executor, and gradients of a graph.
#pragma once

#include "octet/train.h"

namespace octet::train {

/// See TrainApi::make_executor.
Result<std::unique_ptr<Executor>> make_torch_executor(const Graph& graph,
                                                      const TorchOptions& options);
/// See TrainApi::gradients.
Result<std::vector<Tensor>> graph_gradients(const Graph& graph, const GradientRequest& request);

} // namespace octet::train
