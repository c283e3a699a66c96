// SPDX-License-Identifier: Apache-2.0
#include "data/bucketing.h"

#include <algorithm>

#include "core/check.h"
#include "core/philox.h"

#include "octet/dataset.h"

namespace octet {
namespace {

constexpr int64_t kPoolBatches = 64;
/// Keeps the shuffle of batches apart from the permutation of examples.
constexpr uint64_t kBatchStream = uint64_t{1} << 63;

} // namespace

std::vector<int64_t>
bucketed_order(const Dataset& data, int64_t batch_size, uint64_t seed, uint64_t epoch) {
  OCTET_CHECK(batch_size > 0);
  const int64_t n = data.size();
  std::vector<int64_t> order = permutation(n, seed, epoch);
  std::vector<int64_t> lengths(order.size());
  for (int64_t i = 0; i < n; ++i)
    lengths[static_cast<size_t>(i)] = data.length(i);
  const bool same =
      std::adjacent_find(lengths.begin(), lengths.end(), std::not_equal_to<>()) == lengths.end();
  if (same) return order;
  const auto shorter = [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] < lengths[static_cast<size_t>(b)];
  };
  // Whole batches take part; what remains for the last one is drawn by the permutation.
  const int64_t batches = n / batch_size;
  for (int64_t pool = 0; pool < batches; pool += kPoolBatches) {
    const auto begin = order.begin() + pool * batch_size;
    const auto end = order.begin() + std::min(pool + kPoolBatches, batches) * batch_size;
    std::stable_sort(begin, end, shorter);
  }
  Philox random(seed, epoch ^ kBatchStream);
  for (int64_t i = batches - 1; i > 0; --i) {
    const int64_t j = random.below(i + 1);
    if (i == j) continue;
    const auto at = [&](int64_t batch) { return order.begin() + batch * batch_size; };
    std::swap_ranges(at(i), at(i + 1), at(j));
  }
  return order;
}

} // namespace octet
