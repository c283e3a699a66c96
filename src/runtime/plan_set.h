// SPDX-License-Identifier: Apache-2.0
// Plans that take turns in one block of memory.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/plan.h"

namespace octet::runtime {

/// The most recently used first; the least recently used goes when there are too many. The block is
/// as large as the largest plan has needed.
class PlanSet {
 public:
  explicit PlanSet(size_t most = 8) : most_(most) {}

  /// The first that `fits`, or null.
  template <class Fits>
  Plan* find(const Fits& fits) {
    const auto found =
        std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return fits(*plan); });
    if (found == plans_.end()) return nullptr;
    std::rotate(plans_.begin(), found, found + 1);
    return plans_.front().get();
  }
  /// Errors: no memory.
  Result<Plan*> add(std::unique_ptr<Plan> plan);
  size_t arena_bytes() const { return arena_ ? arena_->bytes().size() : 0; }

 private:
  size_t most_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::shared_ptr<Buffer> arena_;
};

} // namespace octet::runtime
