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
/// The mean over the last axis, which stays with the size 1. `rank`: of x.
ValueId emit_mean_of_last(
    Patch& patch, const Graph& graph, const std::string& name, ValueId x, int64_t rank);
/// Emits y = x / sqrt(mean(x^2) + epsilon) * gain over the last axis, as its chain.
ValueId emit_rms_norm(Patch& patch,
                      const Graph& graph,
                      const std::string& name,
                      ValueId x,
                      ValueId gain,
                      double epsilon,
                      DType type,
                      int64_t rank);
/// x with an axis of size 1 more.
ValueId
emit_unsqueeze(Patch& patch, const Graph& graph, const std::string& name, ValueId x, int64_t axis);
/// The size of an axis of x, counted from the front, as a scalar (int64).
ValueId emit_size(Patch& patch, const std::string& name, ValueId x, int64_t axis);
/// 0, 1, ... below `count` (an int64 scalar).
ValueId emit_count(Patch& patch, const std::string& name, ValueId count);
/// A shape or a list of axes as a constant of the patch.
ValueId emit_ints(Patch& patch, const std::string& name, std::vector<int64_t> values);
/// A number of a floating type as a constant of the patch.
ValueId emit_number(Patch& patch, const std::string& name, DType type, double value);

RuleFn decompose_attention;
RuleFn decompose_bipolar_quant;
RuleFn decompose_embed_layer_norm;
RuleFn decompose_fused_product;
RuleFn decompose_gelu;
RuleFn decompose_integer_attention; ///< QAttention whose scale is computed, with MatMulInteger
RuleFn decompose_matmul_nbits;
RuleFn decompose_multi_head_attention;
RuleFn decompose_quant;
RuleFn decompose_quant_to_codes; ///< whatever the operator set, for kernels
RuleFn decompose_onnx_attention; ///< Attention of ai.onnx, for what has no kernel for it
RuleFn decompose_ordered;
RuleFn decompose_ordered_attention;
RuleFn decompose_qembed_layer_norm;
RuleFn decompose_quick_gelu;
RuleFn decompose_rms_norm; ///< RMSNormalization of ai.onnx, for what has no kernel for it
RuleFn decompose_rotary_embedding;
RuleFn decompose_simplified_layer_norm;
RuleFn decompose_skip_layer_norm;
RuleFn decompose_standard_rotary_embedding; ///< that of ai.onnx, in the same way
RuleFn resolve_sequences;                   ///< those whose elements are known

} // namespace octet
