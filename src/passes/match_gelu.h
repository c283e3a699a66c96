// SPDX-License-Identifier: Apache-2.0
// Gelu as the chain of small operators that exporters write for older operator sets. simplify and
// lowering share the matcher.
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

} // namespace octet
