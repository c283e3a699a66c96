// SPDX-License-Identifier: Apache-2.0
// Checks of ranks and dimensions, and short cuts for evaluation.
#include "ops/shared/validate.h"

#include "core/format.h"

namespace octet {

Status check_optional(const InferContext& ctx, size_t i, TypeSet allowed) {
  return ctx.has(i) ? check_input(ctx, i, allowed) : ok_status();
}

Status check_rank(const InferContext& ctx, size_t i, int64_t least, int64_t most) {
  if (!ctx.has(i) || !ctx.input(i).type.has_rank()) return ok_status();
  const int64_t rank = ctx.input(i).type.rank();
  if (rank >= least && rank <= most) return ok_status();
  if (least == most)
    return error("input {} has rank {}; {} takes {}", i, rank, ctx.node.op_type, least);
  return error("input {} has rank {}; {} takes {} to {}", i, rank, ctx.node.op_type, least, most);
}

Result<Dim> merge_dims(const Dim& a, const Dim& b, std::string_view what) {
  if (a.is_constant() && b.is_constant() && a.value() != b.value())
    return error("{}: {} and {}; make them equal", what, a.value(), b.value());
  if (a.is_constant() || !b.is_known()) return a;
  return b.is_constant() || !a.is_known() ? b : a;
}

Status check_vector(const InferContext& ctx, size_t i, const Dim& size, std::string_view what) {
  if (!ctx.has(i) || !ctx.input(i).type.has_rank()) return ok_status();
  OCTET_TRY(check_rank(ctx, i, 1, 1));
  OCTET_TRY(merge_dims((*ctx.input(i).type.shape)[0], size, what));
  return ok_status();
}

Result<Shape> shape_of(const OutputInfo& output) {
  auto shape = output.type.static_shape();
  if (!shape)
    return Error("the output shape does not follow from these inputs", ErrorCode::kInternal);
  return std::move(*shape);
}

Result<Tensor> zeros_as_inferred(InferFn* infer, const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  return Tensor::zeros(outputs.at(0).type.type, OCTET_TRY(shape_of(outputs[0])));
}

int64_t product(std::span<const int64_t> shape, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i)
    count *= shape[i];
  return count;
}

} // namespace octet
