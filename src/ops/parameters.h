// SPDX-License-Identifier: Apache-2.0
// What is trainable in a graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace octet {

struct Parameter {
  ValueId value; ///< a constant
  Role role;     ///< of its first trainable use
};

/// The float constants that reach a weight, bias or gain directly, through data movement or through
/// Q/DQ, in order of id: each once, however many uses it has. Names that match `freeze` are left
/// out; float constants that match `train` are taken whatever their role (and are weights then).
/// Errors: a pattern that matches no float constant.
Result<std::vector<Parameter>> trainable_parameters(const Graph& graph,
                                                    std::span<const std::string> train = {},
                                                    std::span<const std::string> freeze = {});

} // namespace octet
