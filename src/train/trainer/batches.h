// SPDX-License-Identifier: Apache-2.0
// The examples of each step, and batches of a data set as LibTorch tensors. Reading says which
// memory is meant; training threads read through ReadAhead.
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
  Objective::Labels labels;
  int64_t examples = 0;
};

/// What batches are made for and where they will go.
struct BatchUse {
  const Graph* graph = nullptr;
  const Graph* teacher = nullptr; ///< null: none
  const Objective* objective = nullptr;
  c10::Device device{c10::kCPU};
};

/// A batch in the host's memory; for CUDA in pages that it can copy by itself. Errors: a data set
/// that does not fit the graph's inputs or the objective's targets.
Result<TorchBatch> read_batch(const BatchUse& use,
                              const Dataset& data,
                              std::span<const int64_t> indices,
                              int64_t epoch);

/// The same batch on the device, which copies while the host goes on.
TorchBatch on_device(TorchBatch batch, c10::Device device);

/// The batches of `size` that one process of `world` runs for a step over `indices`: batch k of the
/// step belongs to process k modulo the number of processes.
std::vector<std::span<const int64_t>>
own_batches(std::span<const int64_t> indices, int64_t size, const World& world);

} // namespace octet::train
