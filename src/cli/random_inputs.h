// SPDX-License-Identifier: Apache-2.0
// Inputs for a model when nobody has any: random tensors of the types and shapes that it wants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet::cli {

using InputShapes = std::map<std::string, Shape>;

/// `--shape NAME=1x128` items for inputs of the graph; errors name the item.
Result<InputShapes> parse_input_shapes(const Graph& graph, const std::vector<std::string>& items);

/// A size for each symbol of the inputs' shapes: 2, 3, ... along the first axis and 8, 9, ... along
/// others, so that two symbols are never taken for one another.
std::map<std::string, int64_t> different_sizes(const Graph& graph);

/// One tensor for each graph input. Shapes: `shapes`, else the model's with `sizes` for symbols and
/// 1 where there is none. Floats lie in [-1, 1), integers below the length of the table that they
/// index, other integers are 0 or 1. Errors: an input of a type without numbers.
Result<std::vector<Tensor>> random_inputs(const Graph& graph,
                                          const InputShapes& shapes,
                                          const std::map<std::string, int64_t>& sizes,
                                          uint64_t seed);

} // namespace octet::cli
