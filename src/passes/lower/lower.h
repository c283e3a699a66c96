// SPDX-License-Identifier: Apache-2.0
// Lowering: rewrites a float or Q/DQ graph to operators of octet.native (docs/native-operators.md).
#pragma once

#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// How a node of the graph that was lowered is computed.
enum class LowerForm {
  kFloat,    ///< an operator on floats
  kIntegers, ///< an operator of octet's own that computes with codes
  kCodes,    ///< makes, moves or reads codes, or is a constant
  kFused,    ///< another node does it
  kKept,     ///< as it came: octet has no native form of it
};

/// What became of one node of the graph that was lowered.
struct LowerNote {
  std::string node;          ///< its label
  std::string op_type, name; ///< what the label is made of
  LowerForm runs = LowerForm::kFloat;
  std::string form; ///< for people: the operator that runs it, or "fused into <node>"
  std::string why;  ///< empty, or why it did not become an integer operator
  /// Nodes of the source that it was made from, where it is none of them itself.
  std::vector<std::string> origin;
};

/// Of octet.native: multiplies, adds or looks up codes.
bool computes_with_codes(const Node& node);

struct Lowered {
  Graph graph;
  std::vector<LowerNote> notes; ///< in the order of the source graph
};

struct LowerOptions {
  /// false: every Q and DQ stays where it is and products are float, as the file says it literally;
  /// only what is float gets octet's own operators.
  bool integer = true;
  /// false: elementwise nodes and the steps of attention stay apart. The bits are the same.
  bool fuse = true;
};

/// What lowering starts from: operators of com.microsoft that standard ones can compute become
/// those, and with `integer` operators on codes (QLinearConv, QGemm, ...) the float ones between DQ
/// and Q. Equal in real arithmetic. f16 and bf16 are computed in f32. Types must have been
/// inferred.
Status to_standard_operators(Graph& graph, bool integer);

/// Keeps f16 and bf16 in f32, rounded behind each operator that computes. Leaves a graph with
/// bodies as it is, and one whose operators do not take f32 in their place.
void compute_half_in_float(Graph& graph);
/// Whether a node copies, compares or negates elements, or hands on what codes of 8 bits mean: nothing
/// that would be rounded to another type than theirs.
bool keeps_elements(const Graph& graph, const Node& node);

/// The source is ONNX: float, Q/DQ, operators on codes, or a mix. Inputs and outputs keep
/// names and types. Errors: a graph that does not verify or infer, a product whose int32 sum could
/// overflow (NUMERICS, "Integer layers").
Result<Lowered> lower(const Graph& graph, const LowerOptions& options = {});

} // namespace octet
