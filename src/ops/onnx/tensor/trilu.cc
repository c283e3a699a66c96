// SPDX-License-Identifier: Apache-2.0
// Trilu (opset 14). The upper or lower triangle of each matrix, the rest zero; the k-th diagonal
// (optional second input) bounds it.
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Trilu {
namespace {

struct TriluAttrs {
  bool upper = true;
};

TriluAttrs parse(const Node& node) {
  return {.upper = node.attr_int("upper", 1) != 0};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 2));
  OCTET_TRY(check_present(ctx, 0));
  if (ctx.has(1)) OCTET_TRY(check_input(ctx, 1, kInt64Type));
  const TypeInfo& x = ctx.input(0).type;
  if (x.has_rank() && x.rank() < 2)
    return error("x is {}; it holds matrices, rank 2 or more", x.text());
  OCTET_TRY(check_scalar(ctx, 1));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const bool upper = parse(ctx.node).upper;
  const int64_t k = ctx.has(1) ? OCTET_TRY(integer_values(ctx.inputs[1]))[0] : 0;
  const int64_t rows = x.dim(x.rank() - 2);
  const int64_t columns = x.dim(x.rank() - 1);
  std::vector<int64_t> index;
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t diagonal = i % columns - i / columns % rows;
    index.push_back((upper ? diagonal >= k : diagonal <= k) ? i : x.count());
  }
  const Tensor zero = OCTET_TRY(Tensor::zeros(x.type(), {}));
  return one(OCTET_TRY(take(std::vector<Tensor>{x, zero}, x.shape(), index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 14,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kFill>,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Trilu
