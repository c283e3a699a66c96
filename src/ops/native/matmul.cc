// SPDX-License-Identifier: Apache-2.0
// octet.native MatMul (1). a: [.., M, K], b: [.., K, N] f32, or [.., N, K] with trans_b; leading
// dimensions broadcast. Each output is one chain of fused multiply-adds over k. docs/native-operators.md, docs/numerics.md.
#include "ops/native/chain.h"
#include "ops/native/epilogue.h"
#include "ops/shared/matrix_product.h"

namespace octet::native::op_MatMul {
namespace {

bool is_turned(const Node& node) {
  return node.attr_int("trans_b", 0) != 0;
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kF32));
  OCTET_TRY(check_input(c, 1, kF32));
  TypeInfo b = c.input(1).type;
  if (is_turned(c.node)) {
    OCTET_TRY(check_rank(c, 1, 2, 16));
    if (b.has_rank()) std::swap(b.shape->back(), *(b.shape->end() - 2));
  }
  return one(DType::kFloat32, OCTET_TRY(matmul_shape(c.input(0).type, b)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto a = OCTET_TRY(c.inputs[0].to_floats());
  const auto b = OCTET_TRY(c.inputs[1].to_floats());
  const bool turned = is_turned(c.node);
  Shape b_shape = c.inputs[1].shape();
  if (turned) std::swap(b_shape.back(), *(b_shape.end() - 2));
  const auto s = matmul_sizes(c.inputs[0].shape(), b_shape);
  if (s.k == 0) return one(std::move(y)); // sums of nothing
  float* out = y.mutable_data<float>().data();
  for (size_t i = 0; i < s.a_offsets.size(); ++i)
    for (int64_t row = 0; row < s.m; ++row)
      for (int64_t column = 0; column < s.n; ++column)
        *out++ = fma_chain(0, a.data() + s.a_offsets[i] + row * s.k, 1,
                           b.data() + s.b_offsets[i] + column * (turned ? s.k : 1),
                           turned ? 1 : s.n, s.k);
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::native::op_MatMul
