// SPDX-License-Identifier: Apache-2.0
// StringConcat (opset 20). Each string of x followed by that of y; the two broadcast.
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_StringConcat {
namespace {

constexpr TypeSet kStringType{DType::kString};

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kStringType));
  OCTET_TRY(check_input(ctx, 1, kStringType));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& y = ctx.input(1).type;
  if (!x.has_rank() || !y.has_rank()) return one(DType::kString, std::nullopt);
  return one(DType::kString,
             OCTET_TRY(broadcast_dims(std::vector<std::vector<Dim>>{*x.shape, *y.shape})));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto& x = ctx.inputs[0].string_values();
  const auto& y = ctx.inputs[1].string_values();
  const auto from_x = broadcast_index(ctx.inputs[0].shape(), shape);
  const auto from_y = broadcast_index(ctx.inputs[1].shape(), shape);
  std::vector<std::string> out;
  for (size_t i = 0; i < from_x.size(); ++i)
    out.push_back(x[static_cast<size_t>(from_x[i])] + y[static_cast<size_t>(from_y[i])]);
  return one(OCTET_TRY(Tensor::strings(shape, std::move(out))));
}

} // namespace

extern const OpFacets facets = {
    .since = 20,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_StringConcat
