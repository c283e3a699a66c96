// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan_set.h"

#include <utility>

#include "core/format.h"

namespace octet::runtime {

Result<Plan*> PlanSet::add(std::unique_ptr<Plan> plan) {
  if (!arena_ || arena_->bytes().size() < plan->arena_bytes()) {
    std::shared_ptr<Buffer> larger = Buffer::allocate(plan->arena_bytes());
    if (!larger)
      return error("no memory for the {} bytes of activations; use a smaller batch",
                   plan->arena_bytes());
    arena_ = std::move(larger);
    // None is kept that does not get to lie there.
    auto others = std::exchange(plans_, {});
    for (const auto& other : others)
      OCTET_TRY(other->attach(arena_));
    plans_ = std::move(others);
  }
  OCTET_TRY(plan->attach(arena_));
  if (plans_.size() == most_) plans_.pop_back();
  plans_.insert(plans_.begin(), std::move(plan));
  return plans_.front().get();
}

} // namespace octet::runtime
