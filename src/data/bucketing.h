// SPDX-License-Identifier: Apache-2.0
// The order of examples in one pass where batches hold examples of like lengths.
#pragma once

#include <cstdint>
#include <vector>

namespace octet {

class Dataset;

/// Every index once; examples [k * batch_size, (k + 1) * batch_size) of the order are a batch, the
/// last one may be smaller. The random order of the pass is cut into pools of 64 batches, each
/// sorted by length; then whole batches are shuffled. A function of its arguments alone. Where all
/// lengths are the same it is permutation(size, seed, epoch).
std::vector<int64_t>
bucketed_order(const Dataset& data, int64_t batch_size, uint64_t seed, uint64_t epoch);

} // namespace octet
