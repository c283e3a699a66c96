// SPDX-License-Identifier: Apache-2.0
// What the copying steps share; see copies.h.
#include "runtime/steps/copies.h"

#include "core/threads.h"
#include "runtime/kernels/move.h"
#include "runtime/steps/call.h"

namespace octet::runtime {

std::vector<int64_t> along(int64_t size, int64_t stride) {
  std::vector<int64_t> from(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i)
    from[static_cast<size_t>(i)] = i * stride;
  return from;
}

Result<std::unique_ptr<Step>>
move_step(const Operand& x, const Operand& y, std::vector<std::vector<int64_t>> from) {
  return call_step([plan = kernels::plan_move(width_of(x.type), std::move(from)), x = x.id,
                    y = y.id](Slots slots, ParallelFor& parallel) {
    kernels::move(plan, at<const void>(slots, x), nullptr, at<void>(slots, y), parallel);
  });
}

} // namespace octet::runtime
