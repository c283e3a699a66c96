// SPDX-License-Identifier: Apache-2.0
// What the repairs of operators on codes cost.
#pragma once

#include "passes/standardize/coded_operators.h"

namespace octet {

/// What float sums of K products of codes may be off from exact ones: (K + 2) 2^-24 sum |a||b|, for
/// codes at most 255 from their zero points and `scales`, the product of both scales. K is b's
/// size on `axis` (negative, from the end); nullopt where that is not known.
std::optional<double>
product_rounding(const Graph& graph, ValueId b, int64_t axis, std::optional<double> scales);
/// One step of an output's scale: what a tie may cost.
std::optional<double> one_step(const Graph& graph, ValueId scale);

} // namespace octet
