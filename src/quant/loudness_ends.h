// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quant/held_back.h"

namespace octet {

/// The quietest and the loudest of the examples that it sees, by the squares of their float inputs:
/// codes of what is loud know little of what is quiet, and of few examples that are held back none
/// may be either.
class LoudnessEnds {
 public:
  /// These rows of a batch.
  void see(std::span<const Tensor> inputs, std::span<const int64_t> rows);
  /// They go beside what was held back, once.
  void join(HeldBack& held);

 private:
  double least_ = 0, most_ = 0;
  std::vector<Tensor> quietest_, loudest_;
};

} // namespace octet
