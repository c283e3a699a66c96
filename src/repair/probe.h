// SPDX-License-Identifier: Apache-2.0
// What a repair does to one value, as graphs of one input and one output that data can be run on.
#pragma once

#include <optional>

#include "ops/qdq/grid.h"
#include "passes/emit.h"

#include "octet/graph.h"

namespace octet {

/// clip (where given), Q, DQ of one float value; a shift is taken off before Q and added behind DQ.
Graph probe_graph(const qdq::Grid& grid, const Bounds& bounds = {}, double shift = 0);
/// Passes a value through.
Graph identity_probe(DType type);

/// How far both are apart on `x`; nullopt where one of them gives no number.
std::optional<double> probe_difference(const Graph& before, const Graph& after, const Tensor& x);
/// The largest magnitude of a - b, infinite where only one is a number.
double largest_difference(const Tensor& a, const Tensor& b);

} // namespace octet
