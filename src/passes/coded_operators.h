// SPDX-License-Identifier: Apache-2.0
// Operators on codes as the float operator between DQ and Q, with the file's own scales and zero
// points: what lowering and the repairs for TensorRT start from. A sum is rounded to float before
// Q, so that a tie may take the other code, one step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/domains.h"
#include "graph/label.h"
#include "passes/rewrite.h"

namespace octet {

/// com.microsoft's QLinear operators: functions, sums and means of codes, no products.
bool is_qlinear(const Node& node);

/// A tensor of codes with its scale and zero point (which may be omitted).
struct CodedInput {
  ValueId codes, scale, zero;
};
/// Inputs first, first + 1 and first + 2 of a node.
CodedInput coded_input(const Node& node, size_t first);

/// DQ of it; `axis` is written where there are several scales or zero points, and the lone number
/// of the other is then repeated. Nullopt where the scale is computed, where zero points vary along
/// two axes or along an unknown one (`axis` < 0), or where the operator set is too old for several.
std::optional<ValueId> emit_values(Patch& patch,
                                   const Graph& graph,
                                   const CodedInput& input,
                                   int64_t axis,
                                   const std::string& name);
/// The same with `scale`, for an input that has no scale of its own (`input.scale` is invalid).
std::optional<ValueId> emit_values(Patch& patch,
                                   const Graph& graph,
                                   const CodedInput& input,
                                   const Tensor& scale,
                                   int64_t axis,
                                   const std::string& name);
/// Q of `y` with the scale and zero point of two inputs, in place of the node's output.
void replace_by_codes(Patch& patch,
                      const Node& node,
                      ValueId y,
                      ValueId scale,
                      ValueId zero,
                      const std::string& name);
/// int32 codes with scale `factor` * `scale` (one, or one for each of the last axis' elements, or
/// of the first where there is one axis) as a float constant.
std::optional<Tensor>
float_bias(const Graph& graph, ValueId codes, double factor, const Tensor& scale);

/// Each is null for other operators, and where a scale that it needs is computed.
using DecomposeFn = std::optional<Patch>(const Graph&, const Node&);
DecomposeFn decompose_matmul_integer_to_float;
DecomposeFn decompose_qgemm;
DecomposeFn decompose_qlinear_conv;
DecomposeFn decompose_qlinear_matmul;
DecomposeFn decompose_qlinear_pointwise;
DecomposeFn decompose_qlinear_pool;

/// The first of them that takes the node.
DecomposeFn decompose_coded_operator;

/// The input of what decompose_qlinear_pointwise takes that holds the scale of its output; behind
/// the last for other nodes.
size_t pointwise_output_scale(const Node& node);

/// All of them.
std::vector<Rule> coded_operator_rules();

} // namespace octet
