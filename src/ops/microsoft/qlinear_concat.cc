// SPDX-License-Identifier: Apache-2.0
// QLinearConcat (com.microsoft 1). Scale and zero point of the output, then codes, scale and zero
// point of each input: one after the other along the axis, in the output's codes.
#include "core/format.h"
#include "ops/microsoft/codes.h"

namespace octet::ms::op_QLinearConcat {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(ms::check_scale(ctx, 0));
  if (ctx.inputs.size() < 5 || (ctx.inputs.size() - 2) % 3 != 0)
    return error("{} inputs; give scale and zero point, then three inputs for each tensor",
                 ctx.inputs.size());
  std::optional<std::vector<Dim>> out;
  bool ranked = true;
  for (size_t i = 2; i < ctx.inputs.size(); i += 3) {
    OCTET_TRY(ms::check_codes(ctx, i));
    const TypeInfo& t = ctx.input(i).type;
    ranked = ranked && t.has_rank();
    if (!ranked) continue;
    const auto axis =
        static_cast<size_t>(OCTET_TRY(normalize_axis(ctx.node.attr_int("axis", 0), t.rank())));
    if (!out) {
      out = t.shape;
      continue;
    }
    if (out->size() != t.shape->size())
      return error("input {} is {}; all tensors have one rank", i, t.text());
    for (size_t d = 0; d < out->size(); ++d)
      (*out)[d] = d == axis ? (*out)[d] + (*t.shape)[d]
                            : OCTET_TRY(merge_dims((*out)[d], (*t.shape)[d],
                                                   fmt::format("axis {} of the inputs", d)));
  }
  const DType type = ms::output_type(ctx, 0, ctx.input(2).type.type);
  return one(type, ranked ? out : std::nullopt);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto axis = static_cast<size_t>(
      OCTET_TRY(normalize_axis(ctx.node.attr_int("axis", 0), static_cast<int64_t>(shape.size()))));
  const int64_t outer = product(shape, 0, axis), row = product(shape, axis, shape.size());
  std::vector<double> y(static_cast<size_t>(outer * row));
  int64_t first = 0;
  for (size_t i = 2; i < ctx.inputs.size(); i += 3) {
    const auto values = OCTET_TRY(ms::read_codes(ctx, i));
    const Shape& own = ctx.inputs[i].shape();
    const int64_t run = product(own, axis, own.size());
    for (int64_t o = 0; o < outer; ++o)
      std::copy_n(values.begin() + o * run, run, y.begin() + o * row + first);
    first += run;
  }
  return one(OCTET_TRY(ms::write_codes(ctx, 0, outputs[0].type.type, shape, y)));
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

} // namespace octet::ms::op_QLinearConcat
