// SPDX-License-Identifier: Apache-2.0
// Calls of local functions become the functions' nodes. Numbers do not change.
//
//   y = local.F(x) {slope=0.1}            t = Mul(x, two)
//   F(a) -> b: t = Mul(a, two)      =>    y = LeakyRelu(t) {alpha=0.1}
//              b = LeakyRelu(t) {alpha=@slope}
#pragma once

#include "octet/graph.h"

namespace octet {

/// Inlines every call, those in functions and in subgraphs included, and drops the functions and
/// the operator sets that nothing uses any more. New nodes are named "call/node" and have the call
/// as their origin; ids change. Returns how many calls were replaced. The graph is unchanged on an
/// error. Errors: a function that calls itself, one written for another version of an operator set
/// that its nodes use than the model imports, more than 250,000 nodes, a broken function.
Result<int> inline_functions(Graph& graph);

} // namespace octet
