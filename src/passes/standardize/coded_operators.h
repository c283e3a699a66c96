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
#include "ops/qdq/operand.h"
#include "passes/rewrite.h"

namespace octet {

/// com.microsoft's QLinear operators: functions, sums and means of codes, no products.
bool is_qlinear(const Node& node);

/// Each is null for other operators, and where a scale that it needs is computed.
using DecomposeFn = std::optional<Patch>(const Graph&, const Node&);
DecomposeFn decompose_matmul_integer_to_float;
DecomposeFn decompose_qgemm;
DecomposeFn decompose_qlinear_conv;
DecomposeFn decompose_qlinear_matmul;
DecomposeFn decompose_qlinear_pointwise;
DecomposeFn decompose_qlinear_pool;

/// QuantizeLinear and DequantizeLinear of com.microsoft, for which scales may be computed.
DecomposeFn standard_qdq;

/// The first of those above standard_qdq that takes the node.
DecomposeFn decompose_coded_operator;

/// The input of what decompose_qlinear_pointwise takes that holds the scale of its output; behind
/// the last for other nodes.
size_t pointwise_output_scale(const Node& node);

/// All of them.
std::vector<Rule> coded_operator_rules();

} // namespace octet
