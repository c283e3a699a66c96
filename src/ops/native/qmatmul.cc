// SPDX-License-Identifier: Apache-2.0
// octet.native QMatMul (1), a product of two activations. a: [.., M, K], b: [.., K, N] i8/u8,
// leading dimensions broadcast. Attributes: a_zero_point, b_zero_point, multiplier and those of the
// epilogue without residual. docs/native-operators.md, docs/numerics.md.
#include "ops/native/epilogue.h"
#include "ops/shared/matrix_product.h"

namespace octet::native::op_QMatMul {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, kCodes));
  const auto a = OCTET_TRY(parse_epilogue(c.node));
  OCTET_TRY(parse_zero_point(c.node, "a_zero_point", c.input(0).type.type));
  OCTET_TRY(parse_zero_point(c.node, "b_zero_point", c.input(1).type.type));
  return one(a.to, OCTET_TRY(matmul_shape(c.input(0).type, c.input(1).type)));
}

Result<std::vector<int64_t>> operand(const EvalContext& c, size_t i, std::string_view key) {
  const auto codes = OCTET_TRY(centered_codes(c.node, key, c.inputs[i]));
  return std::vector<int64_t>(codes.begin(), codes.end());
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto epilogue = OCTET_TRY(parse_epilogue(c.node));
  const auto a = OCTET_TRY(operand(c, 0, "a_zero_point"));
  const auto b = OCTET_TRY(operand(c, 1, "b_zero_point"));
  const auto sums =
      matmul(matmul_sizes(c.inputs[0].shape(), c.inputs[1].shape()), a.data(), b.data());
  const EpilogueInputs in{.factor = c.node.attr_float("multiplier", 1)};
  return one(OCTET_TRY(apply_epilogue(epilogue, in, sums, std::move(shape))));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::native::op_QMatMul
