// SPDX-License-Identifier: Apache-2.0
// Batches of a data set as LibTorch tensors.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "octet/dataset.h"

namespace octet::train {

struct TorchBatch {
  std::vector<at::Tensor> inputs; ///< one for each graph input
  at::Tensor labels;              ///< undefined without labels
};

/// Errors: a data set that does not fit the graph's inputs.
Result<TorchBatch> read_batch(const Graph& graph,
                              const Dataset& data,
                              std::span<const int64_t> indices,
                              c10::Device device);

} // namespace octet::train
