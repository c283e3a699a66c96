// SPDX-License-Identifier: Apache-2.0
// MatMulNBits (com.microsoft 1). y = a w^T + bias with a: [.., K] and w: [N, K] as codes of `bits`
// bits: see block_codes.h.
#include "ops/microsoft/block_codes.h"
#include "ops/shared/matrix_product.h"

namespace octet::ms::op_MatMulNBits {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 6));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  const BlockCodes w = OCTET_TRY(parse_block_codes(ctx.node));
  OCTET_TRY(check_block_codes(ctx, w));
  OCTET_TRY(check_optional(ctx, 5, kFloatTypes));
  OCTET_TRY(check_vector(ctx, 5, Dim(w.rows), "elements of the bias and N"));
  TypeInfo y = ctx.input(0).type;
  if (!y.has_rank()) return one(y);
  if (y.rank() < 1) return Error("a is a scalar; its last axis must hold K numbers");
  OCTET_TRY(merge_dims(y.shape->back(), Dim(w.columns), "columns of a and K"));
  y.shape->back() = Dim(w.rows);
  return one(y);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const BlockCodes codes = OCTET_TRY(parse_block_codes(ctx.node));
  const auto w = OCTET_TRY(block_values(codes, ctx.inputs));
  const auto a = OCTET_TRY(ctx.inputs[0].to_doubles());
  const int64_t n = codes.rows, k = codes.columns;
  const int64_t rows = product(shape) / n;
  std::vector<double> y(static_cast<size_t>(rows * n));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += a[static_cast<size_t>(r * k + i)] * w[static_cast<size_t>(c * k + i)];
      if (ctx.has(5)) sum += ctx.inputs[5].at(c);
      y[static_cast<size_t>(r * n + c)] = sum;
    }
  return one(OCTET_TRY(rounded(ctx.inputs[0].type(), shape, y)));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : input == 5 ? Role::kBias : Role::kConstant;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("its weights are codes of blocks already");
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_MatMulNBits
