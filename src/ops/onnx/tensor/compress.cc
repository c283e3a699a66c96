// SPDX-License-Identifier: Apache-2.0
// Compress (opset 9). The slices of x along `axis` (of x flattened without it) where the condition
// is true; a short condition leaves the rest out.
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Compress {
namespace {

struct CompressAttrs {
  std::optional<int64_t> axis;
};

Result<CompressAttrs> parse(const Node& node, int64_t rank) {
  if (!node.has_attr("axis")) return CompressAttrs{};
  return CompressAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kBoolType));
  const TypeInfo& condition = ctx.input(1).type;
  if (condition.has_rank() && condition.rank() != 1)
    return error("the condition is {}; it must be a vector", condition.text());
  const TypeInfo& x = ctx.input(0).type;
  if (!ctx.node.has_attr("axis")) return one(x.type, unknown_dims(1));
  if (!x.has_rank()) return one(x.type, std::nullopt);
  std::vector<Dim> out = *x.shape;
  out[static_cast<size_t>(*OCTET_TRY(parse(ctx.node, x.rank())).axis)] = Dim::unknown();
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const auto a = OCTET_TRY(parse(ctx.node, ctx.inputs[0].rank()));
  const Tensor x =
      a.axis ? ctx.inputs[0] : OCTET_TRY(ctx.inputs[0].reshaped({ctx.inputs[0].count()}));
  const auto axis = static_cast<size_t>(a.axis.value_or(0));
  const auto keep = OCTET_TRY(integer_values(ctx.inputs[1]));
  if (static_cast<int64_t>(keep.size()) > x.shape()[axis])
    return error("the condition has {} entries but axis {} has size {}; shorten it", keep.size(),
                 axis, x.shape()[axis]);
  std::vector<int64_t> picks;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i] != 0) picks.push_back(static_cast<int64_t>(i));
  Shape shape = x.shape();
  shape[axis] = static_cast<int64_t>(picks.size());
  const Shape own = strides_of(x.shape());
  Shape strides = own;
  strides[axis] = 0;
  auto index = strided_index(shape, strides);
  const Shape after = strides_of(shape);
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) / after[axis] % shape[axis];
    index[i] += picks[static_cast<size_t>(at)] * own[axis];
  }
  return one(OCTET_TRY(take(x, shape, index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Compress
