// SPDX-License-Identifier: Apache-2.0
// simplify: what can be said shorter is said shorter, for inference.
#pragma once

#include "passes/rewrite.h"

namespace octet {

/// The rules, in the order in which each round of the driver tries them.
std::span<const Rule> simplify_rules();

/// Removes what reaches no output, then runs `simplify_rules` to a fixed point. Numbers change only
/// by rounding (batch norm folded into products); dropout in training mode is kept.
Result<std::vector<Step>> simplify(Graph& graph, const RewriteOptions& options = {});

} // namespace octet
