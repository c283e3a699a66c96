// SPDX-License-Identifier: Apache-2.0
// The loops of a node whose operands broadcast.
#pragma once

#include <span>
#include <vector>

#include "runtime/kernels/broadcast.h"
#include "runtime/step.h"

namespace octet::runtime {

inline kernels::BroadcastPlan broadcast_of(std::span<const Operand> in, const Operand& out) {
  std::vector<Shape> shapes;
  for (const Operand& o : in)
    shapes.push_back(o.shape);
  return kernels::plan_broadcast(shapes, out.shape);
}

} // namespace octet::runtime
