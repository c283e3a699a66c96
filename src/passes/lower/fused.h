// SPDX-License-Identifier: Apache-2.0
// Rules that run over a lowered graph: operators of octet.native that take what is before or behind
// them. All are exact, so that what is fused may depend on what it costs.
#pragma once

#include <vector>

#include "passes/lower/lower.h"
#include "passes/rewrite.h"

namespace octet::lowering {

RuleFn fuse_function;
RuleFn fuse_norm;
RuleFn map_before_joining;

/// The nodes that read the value, where all of them are Quantize of octet.native with the same
/// attributes and one can take the place of all; else none. A graph output is read by others.
std::vector<const Node*> alike_quantizers(const RuleContext& c, ValueId value);

/// Runs rules; the notes of the nodes that joined others say so.
Status fuse_by(std::span<const Rule> rules, Graph& graph, std::vector<LowerNote>& notes);

} // namespace octet::lowering
