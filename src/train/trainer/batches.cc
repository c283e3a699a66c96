// SPDX-License-Identifier: Apache-2.0
// Reading batches.
#include "train/trainer/batches.h"

#include <algorithm>

#include "train/convert.h"
#include "train/guard.h"

namespace octet::train {
namespace {

Result<std::vector<at::Tensor>>
bound_tensors(const Graph& graph, const Batch& batch, c10::Device device) {
  const std::vector<octet::Tensor> bound = OCTET_TRY(bind_inputs(graph, batch));
  return guarded([&]() -> Result<std::vector<at::Tensor>> {
    std::vector<at::Tensor> out;
    out.reserve(bound.size());
    for (const octet::Tensor& t : bound)
      out.push_back(to_torch(t).to(device));
    return out;
  });
}

} // namespace

Result<TorchBatch> read_batch(const Graph& graph,
                              const Graph* teacher,
                              const Objective& objective,
                              const Dataset& data,
                              std::span<const int64_t> indices,
                              int64_t epoch,
                              c10::Device device) {
  const Batch batch = OCTET_TRY(data.batch_at(indices, epoch));
  TorchBatch out;
  out.examples = static_cast<int64_t>(indices.size());
  out.inputs = OCTET_TRY(bound_tensors(graph, batch, device));
  if (teacher != nullptr)
    out.teacher = OCTET_TRY_WITH(bound_tensors(*teacher, batch, device), "teacher");
  out.targets = OCTET_TRY(objective.targets(batch, device));
  return out;
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
