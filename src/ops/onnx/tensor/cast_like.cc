// SPDX-License-Identifier: Apache-2.0
// CastLike (opset 15). y = x converted to the element type of the second input; attributes as Cast.
#include "ops/shared/cast_util.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_CastLike {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(parse_cast_options(ctx.node));
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_present(ctx, 1));
  const DType to = ctx.input(1).type.type;
  auto outputs = one(to, ctx.input(0).type.shape);
  outputs[0].value = cast_dims(ctx.input(0), to);
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const CastOptions options = OCTET_TRY(parse_cast_options(ctx.node));
  return one(OCTET_TRY(cast(ctx.inputs[0], ctx.inputs[1].type(), options)));
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("a CastLike states its types itself");
}

} // namespace

extern const OpFacets facets = {
    .since = 15,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = quant,
    .motion = moves_first<Motion::Kind::kCast>,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_CastLike
