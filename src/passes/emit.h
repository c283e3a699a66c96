// SPDX-License-Identifier: Apache-2.0
// Nodes that rewrites write often.
#pragma once

#include <optional>
#include <string>

#include "graph/patch.h"

namespace octet {

/// The node once more with another value at `input`.
ValueId emit_with_input(Patch& patch, const Node& node, size_t input, ValueId value);
/// x + number.
ValueId emit_shift(Patch& patch, ValueId x, double number, DType type, const std::string& name);

/// Relu, or Clip in the form of the operator set; without bounds x itself.
struct Bounds {
  std::optional<double> lo, hi;
};
ValueId emit_clip(Patch& patch,
                  const Graph& graph,
                  ValueId x,
                  const Bounds& bounds,
                  DType type,
                  std::string name);

} // namespace octet
