// SPDX-License-Identifier: Apache-2.0
// Giving quantizers another scale.
#pragma once

#include <span>
#include <vector>

#include "ops/qdq/grid.h"
#include "repair/rule.h"

namespace octet {

/// A Q of an activation that DQ nodes read: int8, zero point 0, one scale, the same in all of them.
struct SymmetricPair {
  const Node* quantize;
  std::vector<const Node*> readers;
  qdq::Grid grid;
};
std::optional<SymmetricPair> symmetric_pair(const RepairContext& context, const Node& quantize);

/// All of them with the largest of their scales. A Clip before Q puts back what a smaller scale cut
/// off, so that the cost is that of the worst: half a step of the old scale and half a step of the
/// new. The probe is that of the one with the smallest scale.
std::optional<Repair>
unify(const RepairContext& context, std::span<const SymmetricPair> pairs, const std::string& why);

} // namespace octet
