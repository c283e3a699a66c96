// SPDX-License-Identifier: Apache-2.0
// drop_input: a graph without one of its inputs, which is taken to hold one number throughout.
#pragma once

#include <string>

#include "octet/graph.h"

namespace octet {

/// Replaces an input by a tensor that holds `value` everywhere and returns what it was replaced by,
/// in words. Where its shape has open sizes, those are 1 if everything that reads it broadcasts,
/// else they are taken from another input with the same sizes at run time.
/// Errors: no such input, no type, a `value` that the type does not hold, open sizes that no other
/// input has.
Result<std::string> drop_input(Graph& graph, const std::string& name, double value);

} // namespace octet
