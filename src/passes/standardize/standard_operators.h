// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft, which ONNX Runtime's own optimizer writes and no other runtime takes,
// as operators of ai.onnx.
#pragma once

#include <vector>

#include "graph/domains.h"
#include "passes/rewrite.h"

namespace octet {

/// In the order in which they are tried. All are rounding: equal in real arithmetic.
std::vector<Rule> standard_operator_rules();

/// The first of them that takes the node.
std::optional<Patch> decompose_standard(const Graph& graph, const Uses& uses, const Node& node);

/// Emits y = layer norm of x over the last axis: the operator from opset 17 on, else its chain.
/// `bias` may be invalid. `rank`: of x. `type`: of x, where `gain` is no value of the graph.
ValueId emit_layer_norm(Patch& patch,
                        const Graph& graph,
                        const Node& node,
                        ValueId x,
                        ValueId gain,
                        ValueId bias,
                        int64_t rank,
                        std::optional<DType> type = std::nullopt);
/// A shape or a list of axes as a constant of the patch.
ValueId emit_ints(Patch& patch, const std::string& name, std::vector<int64_t> values);
/// A number of a floating type as a constant of the patch.
ValueId emit_number(Patch& patch, const std::string& name, DType type, double value);

RuleFn decompose_attention;
RuleFn decompose_embed_layer_norm;
RuleFn decompose_fused_product;
RuleFn decompose_gelu;
RuleFn decompose_integer_attention; ///< QAttention whose scale is computed, with MatMulInteger
RuleFn decompose_ordered;
RuleFn decompose_ordered_attention;
RuleFn decompose_qembed_layer_norm;
RuleFn decompose_skip_layer_norm;

} // namespace octet
