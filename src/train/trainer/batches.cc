// SPDX-License-Identifier: Apache-2.0
// Reading batches.
#include "train/trainer/batches.h"

#include "train/convert.h"
#include "train/guard.h"

namespace octet::train {

Result<TorchBatch> read_batch(const Graph& graph,
                              const Dataset& data,
                              std::span<const int64_t> indices,
                              c10::Device device) {
  const Batch batch = OCTET_TRY(data.batch(indices));
  const std::vector<octet::Tensor> bound = OCTET_TRY(bind_inputs(graph, batch));
  return guarded([&]() -> Result<TorchBatch> {
    TorchBatch out;
    for (const octet::Tensor& t : bound)
      out.inputs.push_back(to_torch(t).to(device));
    if (!batch.labels.empty()) out.labels = to_torch(batch.labels).to(device, at::kLong);
    return out;
  });
}

} // namespace octet::train
