// SPDX-License-Identifier: Apache-2.0
// Expand (opset 8). x repeated to the shape that x and the second input broadcast to.
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Expand {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  const TypeInfo& x = ctx.input(0).type;
  const auto target = known_dims(ctx.input(1));
  if (!x.has_rank() || !target) return one(x.type, std::nullopt);
  const std::vector<std::vector<Dim>> shapes = {*x.shape, *target};
  auto outputs = one(x.type, OCTET_TRY(broadcast_dims(shapes)));
  const auto value = known_dims(ctx.input(0));
  const auto shape = outputs[0].type.static_shape();
  if (value && value->size() == 1 && shape && shape->size() == 1 && (*shape)[0] <= 1024)
    set_value(outputs[0], std::vector<Dim>(static_cast<size_t>((*shape)[0]), (*value)[0]));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  return one(OCTET_TRY(take(x, shape, broadcast_index(x.shape(), shape))));
}

} // namespace

extern const OpFacets facets = {
    .since = 8,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Expand
