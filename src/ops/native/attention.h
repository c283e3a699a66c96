// SPDX-License-Identifier: Apache-2.0
// octet.native Attention and QAttention: what both are made of. docs/native-operators.md.
#pragma once

#include "core/numerics/program.h"
#include "ops/op.h"

namespace octet::native {

/// Inputs before those of the program: q, k, v.
inline constexpr size_t kAttentionOperands = 3;

/// Whether rows attend within segments alone: the last input says where those begin and end.
bool attends_in_segments(const Node& node);

/// The axis of input `i` (q, k, v), or of the result for `i` = kAttentionOperands, that each axis of
/// what is computed with is; the identity where the attribute is left out. Errors: no permutation.
Result<std::vector<int64_t>> attention_perm(const Node& node, size_t i, int64_t rank);

/// What becomes of the scores (x0) and the inputs behind v, of a node with so many inputs, offsets
/// of segments included; nullopt: nothing. Errors: what parse_program finds.
Result<std::optional<numerics::Program>> attention_program(const Node& node, size_t inputs);

Result<std::vector<OutputInfo>> infer_attention(const InferContext& c);
Result<std::vector<OutputInfo>> infer_qattention(const InferContext& c);
/// One operator after the other: Transpose, MatMul or QMatMul, Map, Softmax, Quantize, MatMul or
/// QMatMul, Transpose. Of segments the same with the rows of each.
Result<std::vector<Tensor>> eval_attention(InferFn* infer, const EvalContext& c);

} // namespace octet::native
