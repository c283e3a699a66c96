// SPDX-License-Identifier: Apache-2.0
// If (opset 1). The outputs of then_branch where the condition holds, else those of else_branch.
#include "core/format.h"
#include "ops/shared/bodies.h"

namespace octet::onnx::op_If {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kBoolType));
  OCTET_TRY(check_scalar(ctx, 0));
  const GraphPtr then_branch = OCTET_TRY(body_of(ctx.node, "then_branch"));
  const GraphPtr else_branch = OCTET_TRY(body_of(ctx.node, "else_branch"));
  const auto on_true = infer_body(ctx, *then_branch, {});
  const auto on_false = infer_body(ctx, *else_branch, {});
  // A branch that does not fit the shapes at hand is one that is not taken with them.
  if (!on_true.ok() && !on_false.ok()) return on_true.error();
  if (!on_true.ok() || !on_false.ok())
    return std::vector<OutputInfo>(on_true.ok() ? on_true->begin() : on_false->begin(),
                                   on_true.ok() ? on_true->end() : on_false->end());
  const std::vector<TypeInfo>& a = *on_true;
  const std::vector<TypeInfo>& b = *on_false;
  if (a.size() != b.size())
    return error("the branches have {} and {} outputs; make them equal", a.size(), b.size());
  std::vector<OutputInfo> outputs;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].type != b[i].type && a[i].type != DType::kUndefined && b[i].type != DType::kUndefined)
      return error("output {} is {} in one branch and {} in the other; insert a Cast", i,
                   a[i].text(), b[i].text());
    outputs.emplace_back(either(a[i], b[i]));
  }
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const bool condition = ctx.inputs[0].at(0) != 0;
  const GraphPtr body = OCTET_TRY(body_of(ctx.node, condition ? "then_branch" : "else_branch"));
  return run_body(ctx, *body, {});
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

} // namespace octet::onnx::op_If
