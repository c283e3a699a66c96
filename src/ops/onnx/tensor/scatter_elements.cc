// SPDX-License-Identifier: Apache-2.0
// ScatterElements (opset 11). y = x with y[indices[i][j]][j] = updates[i][j] for axis 0, and so on
// for other axes; `reduction` (opset 16) combines with what is there. The older Scatter (opset 9)
// is the same without reduction.
#include "core/format.h"
#include "ops/shared/indices.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_ScatterElements {
namespace {

struct ScatterElementsAttrs {
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
};

Result<ScatterElementsAttrs> parse(const Node& node, int64_t rank) {
  return ScatterElementsAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank)),
                              .reduction = OCTET_TRY(parse_reduction(node))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kIndexTypes));
  OCTET_TRY(check_present(ctx, 2));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& indices = ctx.input(1).type;
  const TypeInfo& updates = ctx.input(2).type;
  if (x.type != updates.type && x.type != DType::kUndefined && updates.type != DType::kUndefined)
    return error("x is {} but updates are {}; insert a Cast", name(x.type), name(updates.type));
  if (x.has_rank()) OCTET_TRY(parse(ctx.node, x.rank()));
  if (x.has_rank() && indices.has_rank() && x.rank() != indices.rank())
    return error("x is {} but indices are {}; their ranks must agree", x.text(), indices.text());
  const auto a = indices.static_shape();
  const auto b = updates.static_shape();
  if (a && b && *a != *b)
    return error("indices are {} but updates {}; their shapes must agree", to_string(*a),
                 to_string(*b));
  const auto have = x.static_shape();
  for (size_t i = 0; have && a && i < a->size(); ++i)
    if ((*a)[i] > (*have)[i] &&
        static_cast<int64_t>(i) != OCTET_TRY(parse(ctx.node, x.rank())).axis)
      return error("indices {} are larger than x {} along axis {}; make them fit", to_string(*a),
                   to_string(*have), i);
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Tensor& indices = ctx.inputs[1];
  const ScatterElementsAttrs a = OCTET_TRY(parse(ctx.node, x.rank()));
  const auto picks = OCTET_TRY(indices_within(indices, x.dim(a.axis)));
  Shape strides = strides_of(x.shape());
  const int64_t along = std::exchange(strides[static_cast<size_t>(a.axis)], 0);
  auto places = strided_index(indices.shape(), strides);
  for (size_t i = 0; i < places.size(); ++i)
    places[i] += picks[i] * along;
  return one(OCTET_TRY(scatter(x, ctx.inputs[2], places, a.reduction)));
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

} // namespace octet::onnx::op_ScatterElements

// The operator's name before operator set 11.
namespace octet::onnx::op_Scatter {

extern const OpFacets facets = {
    .since = 9,
    .infer = op_ScatterElements::infer,
    .eval = op_ScatterElements::eval,
    .roles = op_ScatterElements::roles,
    .quant = op_ScatterElements::quant,
    .motion = op_ScatterElements::motion,
    .range = of_sources,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_Scatter
