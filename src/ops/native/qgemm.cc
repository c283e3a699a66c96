// SPDX-License-Identifier: Apache-2.0
// octet.native QGemm (1). x: [.., K] i8/u8, w: [N, K] i8/i16, multiplier: f32 [N] or [1], bias: f32
// (divided by the output's scale where codes come out) or i32 [N], residual: codes like y.
// Attributes: x_zero_point, those of the epilogue and of a function behind it.
// docs/native-operators.md, docs/numerics.md.
#include "ops/native/rows_product.h"

namespace octet::native::op_QGemm {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 5));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, kWeights));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  OCTET_TRY(check_rank(c, 1, 2, 2));
  const auto a = OCTET_TRY(parse_epilogue(c.node));
  OCTET_TRY(parse_function(c.node, a, c.has(4)));
  OCTET_TRY(parse_zero_point(c.node, "x_zero_point", c.input(0).type.type));
  auto shape = OCTET_TRY(rows_shape(c.input(0).type, c.input(1).type));
  if (shape) OCTET_TRY(check_epilogue_inputs(c, a, *shape));
  return one(a.to, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto epilogue = OCTET_TRY(parse_epilogue(c.node));
  const auto x = OCTET_TRY(centered_codes(c.node, "x_zero_point", c.inputs[0]));
  const auto w = OCTET_TRY(weight_codes(c.inputs[1]));
  const auto sums = rows_sums(x, w, c.inputs[1].shape(), OCTET_TRY(element_count(shape)));
  const EpilogueInputs in{.multiplier = &c.inputs[2],
                          .bias = c.has(3) ? &c.inputs[3] : nullptr,
                          .residual = c.has(4) ? &c.inputs[4] : nullptr};
  if (const auto function = OCTET_TRY(parse_function(c.node, epilogue, c.has(4))))
    return one(OCTET_TRY(apply_function(*function, epilogue, in, sums, std::move(shape))));
  return one(OCTET_TRY(apply_epilogue(epilogue, in, sums, std::move(shape))));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::native::op_QGemm
