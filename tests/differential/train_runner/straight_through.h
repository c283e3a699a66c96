// SPDX-License-Identifier: Apache-2.0
// What a graph with Q/DQ is to its gradient: a pair hands on what it does not clip.
#pragma once

#include <span>

#include "octet/graph.h"

namespace octet::differential {

/// A graph whose differences are the straight-through gradient at `inputs`, in double (in_double.h),
/// with the float outputs alone: each pair is x times 0 or 1 plus what makes its value there, and
/// every other DequantizeLinear is its value. Errors: what the reference does not run, in_double's.
Result<Graph> straight_through(const Graph& graph, std::span<const Tensor> inputs);

} // namespace octet::differential
