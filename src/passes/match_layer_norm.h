// SPDX-License-Identifier: Apache-2.0
// LayerNormalization as the chain of small operators that exporters write for older operator sets.
// simplify and lowering share the matcher.
#pragma once

#include <optional>

#include "passes/rewrite.h"

namespace octet {

/// y = (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * gain + bias over the last axes; gain and
/// bias have those axes alone.
struct LayerNormChain {
  ValueId x, gain, bias, y; ///< bias may be invalid
  float epsilon = 0;
  int64_t axes = 1; ///< how many
};
/// `node`: the Mul by the gain.
std::optional<LayerNormChain> match_layer_norm(const RuleContext& context, const Node& node);

} // namespace octet
