// SPDX-License-Identifier: Apache-2.0
// ConstantOfShape (opset 9). A tensor of the shape that the input holds, each element the one of
// the attribute value (f32 0 without it).
#include <algorithm>

#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_ConstantOfShape {
namespace {

/// The element, of shape [1] or a scalar.
Result<Tensor> parse(const Node& node) {
  const Attribute* a = node.attr("value");
  if (a == nullptr) return Tensor::scalar<float>(0);
  const auto* t = std::get_if<Tensor>(&a->value);
  if (t == nullptr || t->count() != 1) return error("value is no tensor of one element; store one");
  return *t;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kInt64Type));
  const Tensor value = OCTET_TRY(parse(ctx.node));
  auto shape = known_dims(ctx.input(0));
  if (!shape) {
    const auto length = ctx.input(0).type.static_shape();
    if (length && length->size() == 1) return one(value.type(), unknown_dims((*length)[0]));
    return one(value.type(), std::nullopt);
  }
  for (Dim& d : *shape)
    if (d.is_constant() && d.value() < 0)
      return error("the shape holds {}; dimensions are 0 or more", d.value());
  auto outputs = one(value.type(), shape);
  const auto count = shape->empty() ? std::optional<int64_t>(1) : (*shape)[0].maybe_value();
  if (shape->size() <= 1 && count && *count <= 1024 && is_integer(value.type())) {
    const auto element = OCTET_TRY(value.to_ints())[0];
    set_value(outputs[0], std::vector<Dim>(static_cast<size_t>(*count), element));
  }
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor value = OCTET_TRY(parse(ctx.node));
  return one(OCTET_TRY(take(value, shape, broadcast_index({}, shape))));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_ConstantOfShape
