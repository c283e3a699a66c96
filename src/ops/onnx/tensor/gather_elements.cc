// SPDX-License-Identifier: Apache-2.0
// GatherElements (opset 11). y has the shape of indices; y[i][j] = x[indices[i][j]][j] for axis 0,
// and so on for other axes.
#include "core/format.h"
#include "ops/shared/indices.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_GatherElements {
namespace {

struct GatherElementsAttrs {
  int64_t axis = 0;
};

Result<GatherElementsAttrs> parse(const Node& node, int64_t rank) {
  return GatherElementsAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kIndexTypes));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& indices = ctx.input(1).type;
  if (x.has_rank()) OCTET_TRY(parse(ctx.node, x.rank()));
  if (!x.has_rank() || !indices.has_rank()) return one(x.type, indices.shape);
  if (x.rank() != indices.rank())
    return error("x is {} but indices are {}; their ranks must agree", x.text(), indices.text());
  const auto axis = static_cast<size_t>(OCTET_TRY(parse(ctx.node, x.rank())).axis);
  for (size_t i = 0; i < x.shape->size(); ++i) {
    const auto have = (*x.shape)[i].maybe_value();
    const auto want = (*indices.shape)[i].maybe_value();
    if (i != axis && have && want && *want > *have)
      return error("indices {} are larger than x {} along axis {}; only axis {} may be",
                   indices.text(), x.text(), i, axis);
  }
  return one(x.type, indices.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Tensor& indices = ctx.inputs[1];
  const int64_t axis = OCTET_TRY(parse(ctx.node, x.rank())).axis;
  const auto picks = OCTET_TRY(indices_within(indices, x.dim(axis)));
  Shape strides = strides_of(x.shape());
  const int64_t along = std::exchange(strides[static_cast<size_t>(axis)], 0);
  auto index = strided_index(indices.shape(), strides);
  for (size_t i = 0; i < index.size(); ++i)
    index[i] += picks[i] * along;
  return one(OCTET_TRY(take(x, indices.shape(), index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_GatherElements
