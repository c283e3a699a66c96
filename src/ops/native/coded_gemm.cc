// SPDX-License-Identifier: Apache-2.0
// octet.native CodedGemm (1). x: [.., K] f32, w: [N, K] codes, w_scale: [N, B] f32, w_zero: [N, B]
// codes (optional), bias: [N] f32 (optional), where B = ceil(K / block). y = Gemm of the numbers that
// DequantizeLinear makes of w: clamp(chain over k + bias, min, max). Attributes: block, min, max.
// docs/native-operators.md, docs/numerics.md.
#include "ops/native/coded_gemm.h"

#include <limits>

#include "core/format.h"
#include "ops/native/chain.h"
#include "ops/native/epilogue.h"

namespace octet::native {

Result<std::vector<float>>
decoded_weights(const Tensor& codes, const Tensor& scales, const Tensor& zeros, int64_t block) {
  auto w = OCTET_TRY(codes.to_floats());
  const auto s = OCTET_TRY(scales.to_floats());
  std::vector<float> z(s.size(), 0.0F);
  if (!zeros.empty()) z = OCTET_TRY(zeros.to_floats());
  const int64_t k = codes.dim(1), blocks = scales.dim(1);
  for (int64_t i = 0; i < codes.count(); ++i) {
    const auto at = static_cast<size_t>(i / k * blocks + i % k / block);
    float& number = w[static_cast<size_t>(i)];
    number = (number - z[at]) * s[at];
  }
  return w;
}

} // namespace octet::native

namespace octet::native::op_CodedGemm {
namespace {

/// Input `i` is [N, B], as far as is known, or omitted.
Status check_blocks(const InferContext& c, size_t i, const Dim& n, int64_t blocks) {
  if (!c.has(i)) return ok_status();
  OCTET_TRY(check_rank(c, i, 2, 2));
  const TypeInfo& type = c.input(i).type;
  if (!type.has_rank()) return ok_status();
  OCTET_TRY(merge_dims((*type.shape)[0], n, "rows of scales and output channels"));
  OCTET_TRY(merge_dims((*type.shape)[1], Dim(blocks), "columns of scales and blocks of weights"));
  return ok_status();
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 5));
  OCTET_TRY(check_input(c, 0, kF32));
  OCTET_TRY(check_input(c, 1, kStoredWeights));
  OCTET_TRY(check_input(c, 2, kF32));
  OCTET_TRY(check_optional(c, 3, {c.input(1).type.type}));
  OCTET_TRY(check_optional(c, 4, kF32));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  OCTET_TRY(check_rank(c, 1, 2, 2));
  if (const int64_t block = c.node.attr_int("block", 0); block < 0)
    return error("block is {}; use 0 or a positive number", block);
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  if (!x.has_rank() || !w.has_rank()) return one(DType::kFloat32, std::nullopt);
  const Dim &n = (*w.shape)[0], &k = (*w.shape)[1];
  OCTET_TRY(merge_dims(x.shape->back(), k, "inner sizes of the product"));
  OCTET_TRY(check_vector(c, 4, n, "bias elements and output channels"));
  if (k.is_constant()) {
    const int64_t block = block_of(c.node, k.value());
    const int64_t blocks = k.value() / block + (k.value() % block == 0 ? 0 : 1);
    OCTET_TRY(check_blocks(c, 2, n, blocks));
    OCTET_TRY(check_blocks(c, 3, n, blocks));
  }
  std::vector<Dim> shape = *x.shape;
  shape.back() = n;
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  ChainOperands o{.x = OCTET_TRY(c.inputs[0].to_floats()),
                  .w = {},
                  .bias = {},
                  .min = c.node.attr_float("min", -kInf),
                  .max = c.node.attr_float("max", kInf)};
  if (c.has(4)) o.bias = OCTET_TRY(c.inputs[4].to_floats());
  const int64_t n = c.inputs[1].dim(0), k = c.inputs[1].dim(1), block = block_of(c.node, k);
  o.w = OCTET_TRY(
      decoded_weights(c.inputs[1], c.inputs[2], c.has(3) ? c.inputs[3] : Tensor(), block));
  rows_chain(o, n, k, y.mutable_data<float>());
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

} // namespace octet::native::op_CodedGemm
