// SPDX-License-Identifier: Apache-2.0
// Loop (opset 1). Runs the body at most M times (first input) while the condition (second) holds:
// (i, condition, carried...) -> (condition, carried..., collected...). The outputs are the last
// carried values and the collected ones stacked along a new first axis.
#include "core/format.h"
#include "ops/shared/bodies.h"

namespace octet::onnx::op_Loop {
namespace {

/// Whether the body hands on what it carries in the shapes that it takes.
bool keeps_shapes(std::span<const TypeInfo> in, std::span<const TypeInfo> out) {
  for (size_t i = 2; i < in.size(); ++i) {
    if (i - 1 >= out.size() || !in[i].shape || !out[i - 1].shape) return false;
    if (*in[i].shape != *out[i - 1].shape) return false;
  }
  return true;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  if (ctx.inputs.size() < 2) return error("Loop has {} inputs, takes 2 or more", ctx.inputs.size());
  if (ctx.has(0)) OCTET_TRY(check_input(ctx, 0, kInt64Type));
  if (ctx.has(1)) OCTET_TRY(check_input(ctx, 1, kBoolType));
  OCTET_TRY(check_scalar(ctx, 0));
  OCTET_TRY(check_scalar(ctx, 1));
  const GraphPtr body = OCTET_TRY(body_of(ctx.node, "body"));
  const size_t carried = ctx.inputs.size() - 2;
  std::vector<TypeInfo> types = {tensor_type(DType::kInt64, {}), tensor_type(DType::kBool, {})};
  for (size_t i = 2; i < ctx.inputs.size(); ++i)
    types.push_back(ctx.input(i).type);
  auto first = infer_body(ctx, *body, types);
  if (!first.ok() || !keeps_shapes(types, *first)) {
    // They may change from one iteration to the next: only element types are promised.
    for (size_t i = 2; i < types.size(); ++i)
      types[i].shape.reset();
    first = infer_body(ctx, *body, types);
  }
  const auto out = OCTET_TRY(std::move(first));
  if (out.size() < 1 + carried)
    return error("the body has {} outputs, needs {} or more; give the condition and every value "
                 "that is carried",
                 out.size(), 1 + carried);
  std::vector<OutputInfo> outputs;
  for (size_t i = 1; i < out.size(); ++i) {
    if (i <= carried)
      outputs.emplace_back(either(out[i], ctx.input(i + 1).type));
    else
      outputs.emplace_back(stacked(out[i], Dim::unknown()));
  }
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const GraphPtr body = OCTET_TRY(body_of(ctx.node, "body"));
  const size_t carried = ctx.inputs.size() - 2;
  const int64_t trips = ctx.has(0) ? OCTET_TRY(ctx.inputs[0].to_ints())[0] : INT64_MAX;
  bool condition = !ctx.has(1) || ctx.inputs[1].at(0) != 0;
  std::vector<Tensor> values(ctx.inputs.begin() + 2, ctx.inputs.end());
  std::vector<std::vector<Tensor>> collected(body->outputs().size() - 1 - carried);
  for (int64_t i = 0; i < trips && condition; ++i) {
    std::vector<Tensor> in = {Tensor::scalar<int64_t>(i), Tensor::scalar<bool>(condition)};
    in.insert(in.end(), values.begin(), values.end());
    const auto out = OCTET_TRY(run_body(ctx, *body, in));
    if (out[0].type() != DType::kBool || out[0].count() != 1)
      return error("the body's condition is {}; it must be a scalar bool",
                   tensor_type(out[0].type(), out[0].shape()).text());
    condition = out[0].at(0) != 0;
    for (size_t k = 1; k < out.size(); ++k) {
      if (k <= carried)
        values[k - 1] = out[k];
      else
        collected[k - 1 - carried].push_back(out[k]);
    }
  }
  for (size_t k = 0; k < collected.size(); ++k) {
    const TypeInfo& type = body->value(body->outputs()[k + 1 + carried]).type;
    values.push_back(OCTET_TRY(stack(collected[k], type)));
  }
  return values;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Loop
