// SPDX-License-Identifier: Apache-2.0
#include "data/dataset_hash.h"

#include <algorithm>

#include "core/hash.h"

namespace octet {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;
constexpr int64_t kRowsAtOnce = 256;

/// Adds a batch to the hash; returns its bytes.
size_t hash_batch(const Batch& batch, uint64_t& hash) {
  size_t bytes = 0;
  const auto take = [&](const Tensor& tensor) {
    hash = hash_bytes(tensor.bytes(), hash);
    bytes += tensor.bytes().size();
  };
  for (const auto& [name, tensor] : batch.inputs)
    take(tensor);
  for (const auto& [name, tensor] : batch.targets)
    take(tensor);
  if (!batch.labels.empty()) take(batch.labels);
  return bytes;
}

} // namespace

uint64_t dataset_hash(const Dataset& data, int64_t samples) {
  uint64_t hash = 0;
  int64_t stride = 1;
  const int64_t count = samples <= 0 ? data.size() : std::min(samples, data.size());
  for (int64_t begin = 0; begin < count; begin += kRowsAtOnce * stride) {
    std::vector<int64_t> rows;
    for (int64_t i = begin; i < std::min(begin + kRowsAtOnce, count); ++i)
      rows.push_back(i * data.size() / count);
    const Result<Batch> batch = data.batch_at(rows, 0);
    if (!batch.ok()) return hash;
    const size_t bytes = hash_batch(*batch, hash);
    const size_t blocks = static_cast<size_t>(count / kRowsAtOnce) + 1;
    if (begin == 0)
      stride = std::max<int64_t>(1, static_cast<int64_t>(blocks * bytes / kMostBytes));
  }
  return hash;
}

} // namespace octet
