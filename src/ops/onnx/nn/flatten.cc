// SPDX-License-Identifier: Apache-2.0
// Flatten (opset 1). x as a matrix: dimensions before `axis` make rows, the others columns.
#include "core/format.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Flatten {
namespace {

struct FlattenAttrs {
  int64_t axis = 1;
};

FlattenAttrs parse(const Node& node) {
  return {.axis = node.attr_int("axis", 1)};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, unknown_dims(2));
  const int64_t axis = parse(ctx.node).axis;
  const int64_t rank = x.rank();
  if (axis < -rank || axis > rank)
    return error("axis {} out of range for rank {}; use {} to {}", axis, rank, -rank, rank);
  const int64_t split = axis < 0 ? axis + rank : axis;
  std::vector<Dim> out = {1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    Dim& side = out[i < split ? 0 : 1];
    side = side * (*x.shape)[static_cast<size_t>(i)];
  }
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_reshaped(infer, ctx);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kView>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Flatten
