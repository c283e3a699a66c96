// SPDX-License-Identifier: Apache-2.0
// octet.native Gemm (1). x: [.., K], w: [N, K], bias: [N], all f32. y = clamp(chain over k + bias,
// min, max). Attributes: min, max. docs/native-operators.md, docs/numerics.md.
#include "ops/native/chain.h"
#include "ops/native/epilogue.h"

namespace octet::native::op_Gemm {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_chain_operands(c));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  OCTET_TRY(check_rank(c, 1, 2, 2));
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  if (!x.has_rank() || !w.has_rank()) return one(DType::kFloat32, std::nullopt);
  OCTET_TRY(merge_dims(x.shape->back(), (*w.shape)[1], "inner sizes of the product"));
  OCTET_TRY(check_vector(c, 2, (*w.shape)[0], "bias elements and output channels"));
  std::vector<Dim> shape = *x.shape;
  shape.back() = (*w.shape)[0];
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const ChainOperands o = OCTET_TRY(chain_operands(c));
  rows_chain(o, c.inputs[1].dim(0), c.inputs[1].dim(1), y.mutable_data<float>());
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::native::op_Gemm
