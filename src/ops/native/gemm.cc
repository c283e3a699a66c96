// SPDX-License-Identifier: Apache-2.0
// octet.native Gemm (1). x: [.., K], w: [N, K], bias: [N], all f32. y = clamp(chain over k + bias,
// min, max). Attributes: min, max. docs/native-operators.md, docs/numerics.md.
#include <limits>

#include "core/numerics/round.h"
#include "ops/native/chain.h"
#include "ops/native/epilogue.h"

namespace octet::native::op_Gemm {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_optional(c, i, kF32));
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
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  const auto w = OCTET_TRY(c.inputs[1].to_floats());
  std::vector<float> bias;
  if (c.has(2)) bias = OCTET_TRY(c.inputs[2].to_floats());
  const float min = c.node.attr_float("min", -kInf), max = c.node.attr_float("max", kInf);
  const int64_t n = c.inputs[1].dim(0), k = c.inputs[1].dim(1);
  auto out = y.mutable_data<float>();
  for (size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    float r = fma_chain(0, x.data() + at / n * k, 1, w.data() + at % n * k, 1, k);
    if (!bias.empty()) r += bias[static_cast<size_t>(at % n)];
    out[i] = numerics::clamp_keep_nan(r, min, max);
  }
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
