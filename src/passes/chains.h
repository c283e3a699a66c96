// SPDX-License-Identifier: Apache-2.0
// Chains of small operators that are one operator in later operator sets: what exporters write for
// older ones. simplify and lowering share these matchers.
#pragma once

#include <optional>

#include "passes/rewrite.h"

namespace octet {

/// y = x / 2 * (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) (gelu_new),
/// with the factors in any order.
struct GeluChain {
  ValueId x, y;
  bool tanh = false;
};
/// `node`: the Erf or Tanh.
std::optional<GeluChain> match_gelu(const RuleContext& context, const Node& node);

/// y = (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * gain + bias over the last axis; gain and
/// bias have that axis alone.
struct LayerNormChain {
  ValueId x, gain, bias, y; ///< bias may be invalid
  float epsilon = 0;
};
/// `node`: the Mul by the gain.
std::optional<LayerNormChain> match_layer_norm(const RuleContext& context, const Node& node);

} // namespace octet
