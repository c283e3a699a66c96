// SPDX-License-Identifier: Apache-2.0
// QLinearSoftmax (com.microsoft 1). Codes of the softmax of x: along the axis, or (with attribute
// opset below 13) over rows of the matrix that the axis cuts.
#include "core/format.h"
#include "ops/microsoft/codes.h"
#include "ops/shared/axis_split.h"

namespace octet::ms::op_QLinearSoftmax {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  auto outputs = OCTET_TRY(ms::infer_unary_codes(ctx));
  if (const TypeInfo& x = ctx.input(0).type; x.has_rank() && x.rank() > 0)
    OCTET_TRY(normalize_axis(ctx.node.attr_int("axis", -1), x.rank()));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape& shape = ctx.inputs[0].shape();
  auto values = OCTET_TRY(ms::read_codes(ctx, 0));
  AxisSplit split;
  if (!shape.empty()) {
    const auto axis = static_cast<size_t>(
        OCTET_TRY(normalize_axis(ctx.node.attr_int("axis", -1), ctx.inputs[0].rank())));
    split.outer = product(shape, 0, axis);
    const bool one_axis = ctx.node.attr_int("opset", 13) >= 13;
    split.count = product(shape, axis, one_axis ? axis + 1 : shape.size());
    split.inner = one_axis ? product(shape, axis + 1, shape.size()) : 1;
  }
  for_each_line(split, values, softmax_line);
  return one(OCTET_TRY(ms::write_codes(ctx, 3, outputs[0].type.type, shape, values)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::ms::op_QLinearSoftmax
