// SPDX-License-Identifier: Apache-2.0
// The textual form of a graph: prints, can be edited by hand, and parses back to an equal graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/graph.h"

namespace octet {

struct TextOptions {
  /// Constants with more elements are written as a hash and a size; parsing such text back needs
  /// the graph that it was printed from.
  int64_t max_elements = 64;
  bool types = true; ///< comment each node with the types of its outputs
};

/// Grammar (one statement a line, `#` starts a comment):
///   graph main opset(""=17, "octet.native"=1)
///   input x: f32[N, 1, 28, 28]
///   const w: f32[2, 2] = [1, 2, 3, 4]
///   const w: f32[64, 32] = init         to be drawn, by its role; or init he, xavier, uniform,
///                                       zeros, ones, normal, normal 0.01
///   y, z = Conv(x, w, _) {strides=[2, 2], auto_pad="VALID"} "node name"
///   com.microsoft.Gelu and the like carry their domain before the type; `_` is an omitted value
///   output y: f32[N, 10]
std::string print(const Graph& graph, const TextOptions& options = {});
/// A constant of the text that is to be drawn: zeros until then (octet/models.h draws them).
struct DrawnConstant {
  ValueId value;
  std::string rule;  ///< empty: by its role
  double number = 0; ///< behind the rule; 0: none
};

/// Errors give the line and what was expected there. `weights` supplies elided constants. Without
/// `drawn` a constant that is to be drawn is an error.
Result<Graph> parse_graph(std::string_view text,
                          const Graph* weights = nullptr,
                          std::vector<DrawnConstant>* drawn = nullptr);

} // namespace octet
