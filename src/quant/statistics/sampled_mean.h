// SPDX-License-Identifier: Apache-2.0
// The mean of each channel of a value, from a sample of its positions: what rounding of weights does
// to the mean of a product's outputs follows from it. Which positions are looked at, and in which
// order, follows from shapes alone, and the sums of examples are added exactly: neither batches nor
// the order of elements in memory show.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/statistics/long_sum.h"

#include "octet/tensor.h"

namespace octet {

class SampledMean {
 public:
  /// Positions of an example and channel that are looked at: the error of their mean is a
  /// sixteenth of what one position differs from another, the more examples the less.
  static constexpr int64_t kMostPositions = 256;

  /// `axis`: 1, or -1 for the last; of the other axes the first counts examples where it is not the
  /// channels themselves.
  explicit SampledMean(int64_t axis) : axis_(axis) {}

  int64_t axis() const { return axis_; }
  /// Takes one batch as it lies: axis i of `stored` is axis axes[i] of the value, without axes it is
  /// in its own order. `mask`, which needs that, as Observer::observe. What has no such axis, another
  /// number of channels than before, or a number that is not finite leaves the mean unknown.
  void observe(const Tensor& stored, std::span<const int64_t> axes, const Tensor* mask);
  /// One for each channel; nothing where one is unknown.
  std::vector<float> means() const;

 private:
  int64_t axis_;
  bool unknown_ = false;
  std::vector<LongSum> sums_;
  std::vector<int64_t> counts_;
};

} // namespace octet
