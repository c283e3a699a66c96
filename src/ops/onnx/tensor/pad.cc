// SPDX-License-Identifier: Apache-2.0
// Pad (opset 2). x with elements added (or, where negative, removed) at the start and end of each
// axis: a constant, the mirror image without the edge (reflect), the edge, or x again (wrap, opset
// 19). Amounts and value are attributes before opset 11, inputs since; axes since opset 18.
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"
#include "ops/shared/padding.h"

namespace octet::onnx::op_Pad {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  const PadMode mode = OCTET_TRY(pad_mode(ctx.node));
  OCTET_TRY(check_count(ctx, ctx.version < 11 ? 1 : 2, ctx.version < 11 ? 1 : 4));
  OCTET_TRY(check_present(ctx, 0));
  if (ctx.version >= 11) OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_scalar(ctx, 2));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  const auto a = OCTET_TRY(pad_amounts(ctx, x.rank()));
  if (!a) return one(x.type, unknown_dims(x.rank()));
  std::vector<Dim> out;
  for (size_t i = 0; i < x.shape->size(); ++i) {
    const Dim& size = (*x.shape)[i];
    const Dim padded = size + a->before[i] + a->after[i];
    if (padded.is_constant() && padded.value() < 0)
      return error("pads {} and {} take more than axis {} of {} has", a->before[i].text(),
                   a->after[i].text(), i, x.text());
    if (mode != PadMode::kConstant && size == Dim(0) && padded != Dim(0))
      return error("axis {} of {} is empty; there is nothing to repeat: use mode constant", i,
                   x.text());
    out.push_back(padded);
  }
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const PadMode mode = OCTET_TRY(pad_mode(ctx.node));
  const Tensor& x = ctx.inputs[0];
  const auto value = [&](size_t i) { return ctx.has(i) ? &ctx.inputs[i] : nullptr; };
  const PadAmounts a = OCTET_TRY(pad_amounts(ctx.node, ctx.version, value(1), value(3), x.rank()));
  const Shape own = strides_of(x.shape());
  const Shape strides = strides_of(shape);
  auto index = strided_index(shape, strides);
  for (int64_t& i : index) {
    int64_t from = 0;
    for (size_t axis = 0; axis < shape.size() && from >= 0; ++axis) {
      const int64_t at = i / strides[axis] % shape[axis] - a.before[axis].value();
      const int64_t there = pad_source(at, x.shape()[axis], mode);
      from = there < 0 ? -1 : from + there * own[axis];
    }
    i = from < 0 ? x.count() : from;
  }
  const Tensor fill = OCTET_TRY(pad_fill(ctx.node, ctx.version, x.type(), value(2)));
  return one(OCTET_TRY(take(std::vector<Tensor>{x, fill}, shape, index)));
}

/// Its other modes repeat elements of x.
Motion motion(const Node& node) {
  const bool fills = node.attr_string("mode", "constant") == "constant";
  return {.kind = fills ? Motion::Kind::kFill : Motion::Kind::kSelect};
}

} // namespace

extern const OpFacets facets = {
    .since = 2,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = motion,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Pad
