// SPDX-License-Identifier: Apache-2.0
// ScatterND (opset 11). y = x with the slice at each coordinate row of indices replaced by, or
// combined with (`reduction`, opset 16), the slice of updates.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/indices.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_ScatterND {
namespace {

struct ScatterNDAttrs {
  ScatterReduction reduction = ScatterReduction::kNone;
};

Result<ScatterNDAttrs> parse(const Node& node) {
  return ScatterNDAttrs{.reduction = OCTET_TRY(parse_reduction(node))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(parse(ctx.node));
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_present(ctx, 2));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& updates = ctx.input(2).type;
  if (x.type != updates.type && x.type != DType::kUndefined && updates.type != DType::kUndefined)
    return error("x is {} but updates are {}; insert a Cast", name(x.type), name(updates.type));
  const auto shape = x.static_shape();
  const auto indices = ctx.input(1).type.static_shape();
  const auto given = updates.static_shape();
  if (!shape || !indices || !given) return one(x);
  if (indices->empty() || indices->back() < 1 ||
      indices->back() > static_cast<int64_t>(shape->size()))
    return error("indices {} hold no coordinates for x {}; their last dimension is 1 to {}",
                 to_string(*indices), to_string(*shape), shape->size());
  Shape want(indices->begin(), indices->end() - 1);
  want.insert(want.end(), shape->begin() + indices->back(), shape->end());
  if (want != *given)
    return error("updates are {} but x {} and indices {} need {}", to_string(*given),
                 to_string(*shape), to_string(*indices), to_string(want));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Tensor& indices = ctx.inputs[1];
  const int64_t run = strides_of(x.shape())[static_cast<size_t>(indices.shape().back()) - 1];
  std::vector<int64_t> places;
  for (int64_t start : OCTET_TRY(slice_starts(indices, x.shape(), 0)))
    for (int64_t i = 0; i < run; ++i)
      places.push_back(start + i);
  const ScatterReduction reduction = OCTET_TRY(parse(ctx.node)).reduction;
  return one(OCTET_TRY(scatter(x, ctx.inputs[2], places, reduction)));
}

Role roles(const Node&, size_t input) {
  return input == 1 ? Role::kConstant : Role::kData;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  QuantTrait t;
  t.kind = QuantTrait::Kind::kSameScale;
  t.inputs = {0, 2};
  return t;
}

Motion motion(const Node& node) {
  const bool adds_up = node.attr_string("reduction", "none") != "none";
  return {.kind = adds_up ? Motion::Kind::kNone : Motion::Kind::kJoin, .inputs = 0b101};
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = motion,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_ScatterND
