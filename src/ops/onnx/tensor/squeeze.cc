// SPDX-License-Identifier: Apache-2.0
// Squeeze (opset 1). x without the dimensions `axes`, which must be 1; without axes, without every
// dimension that is 1. The axes are an attribute before opset 13, an input since.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Squeeze {
namespace {

/// x's shape without `axes`. Errors: one of them is not 1.
Result<std::vector<Dim>> without(const TypeInfo& x, const std::vector<int64_t>& axes) {
  std::vector<Dim> out;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const Dim& d = (*x.shape)[static_cast<size_t>(i)];
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      out.push_back(d);
    } else if (d.is_constant() && d.value() != 1) {
      return error("axis {} of {} has size {}; only dimensions of size 1 can be squeezed", i,
                   x.text(), d.value());
    }
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, ctx.version < 13 ? 1 : 2));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  const ListArgument axes = list_argument(ctx, "axes", 1, 13);
  if (!x.has_rank()) return one(x.type, std::nullopt);
  std::vector<int64_t> dropped;
  if (!axes.given) {
    for (int64_t i = 0; i < x.rank(); ++i) {
      const Dim& d = (*x.shape)[static_cast<size_t>(i)];
      if (!d.is_constant()) return one(x.type, std::nullopt);
      if (d.value() == 1) dropped.push_back(i);
    }
  } else if (axes.known) {
    dropped = OCTET_TRY(normalize_axes(*axes.known, x.rank()));
  } else {
    return one(x.type, std::nullopt);
  }
  auto outputs = one(x.type, OCTET_TRY(without(x, dropped)));
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

} // namespace octet::onnx::op_Squeeze
