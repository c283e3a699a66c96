// SPDX-License-Identifier: Apache-2.0
// Reading batches.
#include "train/trainer/batches.h"

#include <algorithm>

#include "train/convert.h"
#include "train/guard.h"

namespace octet::train {
namespace {

/// CUDA copies from pinned pages without the host's help.
at::Tensor ready_for(at::Tensor tensor, c10::Device device) {
  return device.is_cuda() ? tensor.pin_memory() : std::move(tensor);
}

Result<std::vector<at::Tensor>>
bound_tensors(const Graph& graph, const Batch& batch, c10::Device device) {
  const std::vector<octet::Tensor> bound = OCTET_TRY(bind_inputs(graph, batch));
  return guarded([&]() -> Result<std::vector<at::Tensor>> {
    std::vector<at::Tensor> out;
    out.reserve(bound.size());
    for (const octet::Tensor& t : bound)
      out.push_back(ready_for(to_torch(t), device));
    return out;
  });
}

} // namespace

Result<TorchBatch> read_batch(const BatchUse& use,
                              const Dataset& data,
                              std::span<const int64_t> indices,
                              int64_t epoch) {
  const Batch batch = OCTET_TRY(data.batch_at(indices, epoch));
  TorchBatch out;
  out.examples = static_cast<int64_t>(indices.size());
  out.inputs = OCTET_TRY(bound_tensors(*use.graph, batch, use.device));
  if (use.teacher != nullptr)
    out.teacher = OCTET_TRY_WITH(bound_tensors(*use.teacher, batch, use.device), "teacher");
  out.labels = OCTET_TRY(use.objective->labels(batch));
  OCTET_TRY(guarded([&] {
    for (at::Tensor& targets : out.labels.targets)
      targets = ready_for(std::move(targets), use.device);
    return ok_status();
  }));
  return out;
}

TorchBatch on_device(TorchBatch batch, c10::Device device) {
  for (std::vector<at::Tensor>* list : {&batch.inputs, &batch.teacher, &batch.labels.targets})
    for (at::Tensor& t : *list)
      if (t.device() != device) t = t.to(at::TensorOptions(device), /*non_blocking=*/true);
  return batch;
}

std::vector<std::span<const int64_t>>
own_batches(std::span<const int64_t> indices, int64_t size, const World& world) {
  std::vector<std::span<const int64_t>> out;
  const auto count = static_cast<size_t>(size);
  const size_t stride = count * static_cast<size_t>(world.size);
  for (size_t begin = count * static_cast<size_t>(world.rank); begin < indices.size();
       begin += stride)
    out.push_back(indices.subspan(begin, std::min(count, indices.size() - begin)));
  return out;
}

} // namespace octet::train
