// SPDX-License-Identifier: Apache-2.0
// Unsqueeze (opset 1). x with a dimension of 1 at each of `axes`, which count in the output's rank.
// The axes are an attribute before opset 13, an input since.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Unsqueeze {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, ctx.version < 13 ? 1 : 2, ctx.version < 13 ? 1 : 2));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  const ListArgument axes = list_argument(ctx, "axes", 1, 13);
  if (!axes.given) return error("axes are missing; name the places of the new dimensions");
  if (!x.has_rank() || !axes.known) return one(x.type, std::nullopt);
  const int64_t rank = x.rank() + static_cast<int64_t>(axes.known->size());
  const auto places = OCTET_TRY(normalize_axes(*axes.known, rank));
  std::vector<Dim> out;
  auto next = x.shape->begin();
  for (int64_t i = 0; i < rank; ++i) {
    const bool is_new = std::find(places.begin(), places.end(), i) != places.end();
    out.push_back(is_new ? Dim(1) : *next++);
  }
  auto outputs = one(x.type, out);
  set_value(outputs[0], known_dims(ctx.input(0)));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_reshaped(infer, ctx);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kView>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Unsqueeze
