// SPDX-License-Identifier: Apache-2.0
// Where (opset 9). y = x where the condition holds, else the third input; all three broadcast.
// Selections between shapes fold when the condition is known.
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Where {
namespace {

/// The chosen elements, scalars repeated; nothing when lengths do not fit.
std::optional<std::vector<Dim>> select(const InferContext& ctx) {
  const auto condition = known_dims(ctx.input(0));
  const auto x = known_dims(ctx.input(1));
  const auto y = known_dims(ctx.input(2));
  if (!condition || !x || !y) return std::nullopt;
  size_t n = 1;
  for (const auto* v : {&*condition, &*x, &*y})
    if (v->size() != 1) n = v->size();
  for (const auto* v : {&*condition, &*x, &*y})
    if (v->size() != 1 && v->size() != n) return std::nullopt;
  std::vector<Dim> out;
  for (size_t i = 0; i < n; ++i) {
    const Dim& c = (*condition)[condition->size() == 1 ? 0 : i];
    const Dim& a = (*x)[x->size() == 1 ? 0 : i];
    const Dim& b = (*y)[y->size() == 1 ? 0 : i];
    if (c.is_constant())
      out.push_back(c.value() != 0 ? a : b);
    else
      out.push_back(a == b ? a : Dim::unknown());
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_input(ctx, 0, kBoolType));
  OCTET_TRY(check_present(ctx, 1));
  OCTET_TRY(check_present(ctx, 2));
  TypeInfo out;
  out.type = OCTET_TRY(common_type(ctx, 1, 2));
  std::vector<std::vector<Dim>> shapes;
  for (const InputInfo& in : ctx.inputs)
    if (in.type.has_rank()) shapes.push_back(*in.type.shape);
  if (shapes.size() == 3) out.shape = OCTET_TRY(broadcast_dims(shapes));
  auto outputs = one(std::move(out));
  const TypeInfo& type = outputs[0].type;
  if (is_integer(type.type) && type.has_rank() && type.rank() <= 1) outputs[0].value = select(ctx);
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape to = OCTET_TRY(infer_shape(infer, ctx));
  const auto condition = OCTET_TRY(integer_values(ctx.inputs[0]));
  const auto ci = broadcast_index(ctx.inputs[0].shape(), to);
  const auto xi = broadcast_index(ctx.inputs[1].shape(), to);
  auto index = broadcast_index(ctx.inputs[2].shape(), to);
  const int64_t after_x = ctx.inputs[1].count();
  for (size_t i = 0; i < index.size(); ++i)
    index[i] = condition[static_cast<size_t>(ci[i])] != 0 ? xi[i] : after_x + index[i];
  return one(OCTET_TRY(take(std::vector<Tensor>{ctx.inputs[1], ctx.inputs[2]}, to, index)));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kConstant : Role::kData;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  QuantTrait t;
  t.kind = QuantTrait::Kind::kSameScale;
  t.inputs = {1, 2};
  return t;
}

Motion motion(const Node&) {
  return {.kind = Motion::Kind::kJoin, .inputs = 0b110};
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = motion,
    .range = of_sources,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_Where
