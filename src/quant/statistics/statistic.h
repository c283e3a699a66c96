// SPDX-License-Identifier: Apache-2.0
// Statistic: what calibration collects of a value's channels beside ranges (octet/observer.h). It
// streams, and its memory is known beforehand and does not grow with the data.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octet/result.h"
#include "octet/tensor.h"

namespace octet {

class Statistic {
 public:
  virtual ~Statistic() = default;
  /// Takes one batch; `mask` as Observer::observe. Errors leave it as it was: a number that is not
  /// finite (with its index), another number of channels than it was made for.
  virtual Status observe(const Tensor& values, const Tensor* mask) = 0;
  /// Bit for bit what observing the other's batches too makes, in any order: only integers are
  /// added and extremes taken. Errors: another kind or number of channels; sums that the order of
  /// the data rounds (Gram).
  virtual Status merge(const Statistic& other) = 0;
  /// All of it, as named tensors: what has seen the same has the same bytes here.
  virtual std::vector<std::pair<std::string, Tensor>> state() const = 0;
  /// Bytes that it holds from the beginning to the end.
  virtual int64_t bytes() const = 0;
};

} // namespace octet
