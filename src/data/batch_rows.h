// SPDX-License-Identifier: Apache-2.0
// Batches of all examples of a data set, also for graphs that fix how many a run takes.
#pragma once

#include <cstdint>
#include <vector>

#include "octet/dataset.h"

namespace octet {

/// Which examples make a batch: `wanted` of them, or as many as the graph fixes.
class BatchRows {
 public:
  BatchRows(const Graph& graph, const Dataset& data, int64_t wanted);
  int64_t size() const { return size_; }
  bool fixed() const { return fixed_; } ///< no smaller batch fits
  /// Those from `begin` on, not beyond `end` (one more than the last). Where the size is fixed the
  /// batch is filled up with the examples that follow, and behind the last with the first.
  std::vector<int64_t> from(int64_t begin, int64_t end) const;
  /// How many of those from `begin` on are meant: the others fill the batch up.
  int64_t meant(int64_t begin, int64_t end) const;

 private:
  int64_t size_;
  bool fixed_;
  int64_t examples_;
};

/// The first rows of a tensor that has one for each example of a batch; the tensor where it has no
/// more.
Result<Tensor> first_rows(const Tensor& tensor, int64_t rows);

} // namespace octet
