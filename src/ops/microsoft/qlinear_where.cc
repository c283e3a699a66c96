// SPDX-License-Identifier: Apache-2.0
// QLinearWhere (com.microsoft 1). condition, x (three inputs), y (three), scale and zero point of
// the output: the codes of x where the condition holds, of y elsewhere; all broadcast.
#include "ops/microsoft/codes.h"
#include "ops/shared/movement.h"

namespace octet::ms::op_QLinearWhere {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 8, 9));
  OCTET_TRY(check_input(ctx, 0, kBoolType));
  OCTET_TRY(ms::check_codes(ctx, 1));
  OCTET_TRY(ms::check_codes(ctx, 4));
  OCTET_TRY(ms::check_scale(ctx, 7));
  const DType type = ms::output_type(ctx, 7, ctx.input(1).type.type);
  std::vector<std::vector<Dim>> shapes;
  for (const size_t i : {size_t{0}, size_t{1}, size_t{4}}) {
    if (!ctx.input(i).type.has_rank()) return one(type, std::nullopt);
    shapes.push_back(*ctx.input(i).type.shape);
  }
  return one(type, OCTET_TRY(broadcast_dims(shapes)));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto x = OCTET_TRY(ms::read_codes(ctx, 1)), y = OCTET_TRY(ms::read_codes(ctx, 4));
  const auto from_c = broadcast_index(ctx.inputs[0].shape(), shape);
  const auto from_x = broadcast_index(ctx.inputs[1].shape(), shape);
  const auto from_y = broadcast_index(ctx.inputs[4].shape(), shape);
  std::vector<double> z;
  for (size_t i = 0; i < from_c.size(); ++i)
    z.push_back(ctx.inputs[0].at(from_c[i]) != 0 ? x[static_cast<size_t>(from_x[i])]
                                                 : y[static_cast<size_t>(from_y[i])]);
  return one(OCTET_TRY(ms::write_codes(ctx, 7, outputs[0].type.type, shape, z)));
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

} // namespace octet::ms::op_QLinearWhere
