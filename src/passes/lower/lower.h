// SPDX-License-Identifier: Apache-2.0
// Lowering: rewrites a float or Q/DQ graph to operators of octet.native (docs/native-operators.md).
#pragma once

#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// What became of one node of the graph that was lowered.
struct LowerNote {
  std::string node; ///< its label
  std::string form; ///< the operator that runs it, or "fused into <node>"
  std::string why;  ///< empty, or why it did not become an integer operator
  /// Nodes of the source that it was made from, where it is none of them itself.
  std::vector<std::string> origin;
};

struct Lowered {
  Graph graph;
  std::vector<LowerNote> notes; ///< in the order of the source graph
};

struct LowerOptions {
  /// false: every Q and DQ stays where it is and products are float, as the file says it literally;
  /// only what is float gets octet's own operators.
  bool integer = true;
};

/// What lowering starts from: operators of com.microsoft that standard ones can compute become
/// those, and with `integer` operators on codes (QLinearConv, QGemm, ...) the float ones between DQ
/// and Q. Equal in real arithmetic. f16 and bf16 are computed in f32. Types must have been
/// inferred.
Status to_standard_operators(Graph& graph, bool integer);

/// Keeps f16 and bf16 in f32, rounded behind each operator that computes. Leaves a graph with
/// bodies as it is, and one whose operators do not take f32 in their place.
void compute_half_in_float(Graph& graph);

/// The source is ONNX: float, Q/DQ, operators on codes, or a mix. Inputs and outputs keep
/// names and types. Errors: a graph that does not verify or infer, a product whose int32 sum could
/// overflow (NUMERICS, "Integer layers").
Result<Lowered> lower(const Graph& graph, const LowerOptions& options = {});

} // namespace octet
