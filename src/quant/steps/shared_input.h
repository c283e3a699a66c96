// SPDX-License-Identifier: Apache-2.0
// Products that read one value together: what steps that change the value must agree on.
#pragma once

#include <map>
#include <vector>

#include "quant/steps/channel_constants.h"
#include "quant/steps/step.h"

namespace octet {

struct SharedInput {
  std::vector<ChannelConstant> consumers; ///< their weights along the value's channels
  int64_t axis = -1, channels = 0;        ///< of the value
};

/// Errors: a product that does not read x at input 0, or whose weights have no such channels as
/// those of the others.
Result<SharedInput>
shared_input(const SteppedGraph& stepped, ValueId x, const std::vector<NodeId>& products);

/// Values that quantized products with weights of their own read through codes, with those.
Result<std::map<ValueId, std::vector<NodeId>>> products_by_input(const Fitting& fitting);

} // namespace octet
