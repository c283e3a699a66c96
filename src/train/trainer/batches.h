// SPDX-License-Identifier: Apache-2.0
// The examples of each step, and batches of a data set as LibTorch tensors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/subset.h"
#include "train/trainer/objective.h"
#include <ATen/core/Tensor.h>

#include "octet/dataset.h"

namespace octet::train {

struct TorchBatch {
  std::vector<at::Tensor> inputs;  ///< one for each graph input
  std::vector<at::Tensor> teacher; ///< one for each input of the teacher; empty: none
  std::vector<at::Tensor> targets; ///< one for each term
  int64_t examples = 0;
};

/// Errors: a data set that does not fit the graph's inputs or the objective's targets.
Result<TorchBatch> read_batch(const Graph& graph,
                              const Graph* teacher,
                              const Objective& objective,
                              const Dataset& data,
                              std::span<const int64_t> indices,
                              int64_t epoch,
                              c10::Device device);

/// The batches of `size` that one process of `world` runs for a step over `indices`: batch k of the
/// step belongs to process k modulo the number of processes.
std::vector<std::span<const int64_t>>
own_batches(std::span<const int64_t> indices, int64_t size, const World& world);

} // namespace octet::train
