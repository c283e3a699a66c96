// SPDX-License-Identifier: Apache-2.0
// Loop (opset 1). Runs the body at most M times (first input) while the condition (second) holds:
// (i, condition, carried...) -> (condition, carried..., collected...). The outputs are the last
// carried values and the collected ones stacked along a new first axis.
#include "core/format.h"
#include "ops/shared/bodies.h"
#include "ops/shared/slices.h"

namespace octet::onnx::op_Loop {
namespace {

/// Takes from the type of a carried value what `out`, its type after an iteration, does not share:
/// sizes, or the rank, which goes anyway where `all` is said. Returns whether there was any.
bool loosen(TypeInfo& carried, const TypeInfo& out, bool all) {
  if (!carried.has_rank()) return false;
  const TypeInfo both = either(carried, out);
  bool same = both.has_rank();
  for (size_t i = 0; same && i < both.shape->size(); ++i)
    same = (*both.shape)[i].is_known() == (*carried.shape)[i].is_known();
  if (same) return false;
  carried.shape = all ? std::nullopt : both.shape;
  return true;
}

/// What the body gives in every iteration. `types`: those of its inputs in the first one; what it
/// carries loses the sizes that it does not keep.
Result<std::vector<TypeInfo>>
infer_every_iteration(const InferContext& ctx, const Graph& body, std::vector<TypeInfo>& types) {
  constexpr int kRounds = 4;
  for (int round = 0;; ++round) {
    auto out = infer_body(ctx, body, types);
    bool steady = true;
    for (size_t i = 2; i < types.size(); ++i) {
      const bool given = out.ok() && i - 1 < out->size();
      if (loosen(types[i], given ? (*out)[i - 1] : TypeInfo(), round >= kRounds)) steady = false;
    }
    if (steady) return out;
  }
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
  const auto out = OCTET_TRY(infer_every_iteration(ctx, *body, types));
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

/// What a turn would collect where there is none: no graph says its shape as surely as a run of the
/// body. Where that fails, since nobody meant it to run, only element types are known.
Result<std::vector<TypeInfo>>
types_of_a_turn(const EvalContext& ctx, const Graph& body, const std::vector<Tensor>& carried) {
  std::vector<Tensor> in = {Tensor::scalar<int64_t>(0), Tensor::scalar<bool>(true)};
  in.insert(in.end(), carried.begin(), carried.end());
  const auto out = run_body(ctx, body, in);
  std::vector<TypeInfo> types;
  for (size_t k = 1 + carried.size(); k < body.outputs().size(); ++k)
    types.push_back(out.ok() ? tensor_type((*out)[k].type(), (*out)[k].shape())
                             : TypeInfo{body.value(body.outputs()[k]).type.type, {}, {}});
  return types;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const GraphPtr body = OCTET_TRY(body_of(ctx.node, "body"));
  const size_t carried = ctx.inputs.size() - 2;
  const int64_t trips = ctx.has(0) ? OCTET_TRY(ctx.inputs[0].to_ints())[0] : INT64_MAX;
  bool condition = !ctx.has(1) || ctx.inputs[1].at(0) != 0;
  std::vector<Tensor> values(ctx.inputs.begin() + 2, ctx.inputs.end());
  std::vector<Collected> collected(body->outputs().size() - 1 - carried,
                                   Collected(0, std::nullopt));
  for (int64_t i = 0; i < trips && condition; ++i) {
    std::vector<Tensor> in = {Tensor::scalar<int64_t>(i), Tensor::scalar<bool>(condition)};
    in.insert(in.end(), values.begin(), values.end());
    auto out = OCTET_TRY(run_body(ctx, *body, in));
    if (out[0].type() != DType::kBool || out[0].count() != 1)
      return error("the body's condition is {}; it must be a scalar bool",
                   tensor_type(out[0].type(), out[0].shape()).text());
    condition = out[0].at(0) != 0;
    for (size_t k = 1; k < out.size(); ++k) {
      if (k <= carried)
        values[k - 1] = std::move(out[k]);
      else
        OCTET_TRY(collected[k - 1 - carried].add(out[k]));
    }
  }
  std::vector<TypeInfo> types;
  if (!collected.empty() && collected[0].empty())
    types = OCTET_TRY(types_of_a_turn(ctx, *body, values));
  for (size_t k = 0; k < collected.size(); ++k)
    values.push_back(OCTET_TRY(collected[k].finish(types.empty() ? TypeInfo{} : types[k])));
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
