// SPDX-License-Identifier: Apache-2.0
// The examples of a calibration batch: the rows of all its inputs.
#pragma once

#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet {

int64_t examples_in(std::span<const Tensor> inputs);

/// Whether a batch may be cut: the graph leaves the size of each input open, and all have one size.
bool can_be_cut(const Graph& graph, std::span<const Tensor> inputs);

/// Some rows of each input.
std::vector<Tensor> rows_of(std::span<const Tensor> inputs, std::span<const int64_t> rows);

} // namespace octet
