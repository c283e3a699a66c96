// SPDX-License-Identifier: Apache-2.0
// octet.native QScaledGemm (1). x: [.., K] i8/u8, w: [N, K] i8/i16, x_scale: f32 of one element, w_scale:
// f32 [N] or [1], bias: f32 [N], x_zero: one code like x. What is known of x when it runs only are
// its scale and zero point: DynamicQuantizeLinear's. Attributes: program and constants of a
// function of one number (optional). docs/native-operators.md, docs/numerics.md.
#include <limits>

#include "core/format.h"
#include "ops/native/rows_product.h"

namespace octet::native::op_QScaledGemm {
namespace {

Status check_one(const InferContext& c, size_t input, std::string_view what) {
  const auto shape = c.input(input).type.static_shape();
  if (shape && product(*shape) != 1)
    return error("{} of {} elements; give one", what, product(*shape));
  return ok_status();
}

/// Floats without a clamp.
EpilogueAttrs to_floats() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EpilogueAttrs out;
  out.to = DType::kFloat32;
  out.min = -kInf;
  out.max = kInf;
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 4, 6));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, kWeights));
  OCTET_TRY(check_input(c, 2, kF32));
  OCTET_TRY(check_input(c, 3, kF32));
  OCTET_TRY(check_optional(c, 4, kF32));
  OCTET_TRY(check_optional(c, 5, {c.input(0).type.type}));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  OCTET_TRY(check_rank(c, 1, 2, 2));
  OCTET_TRY(check_one(c, 2, "a scale of x"));
  if (c.has(5)) OCTET_TRY(check_one(c, 5, "a zero point of x"));
  OCTET_TRY(parse_function(c.node, to_floats(), false));
  auto shape = OCTET_TRY(rows_shape(c.input(0).type, c.input(1).type));
  if (shape) OCTET_TRY(check_channel_scales(c, 3, 4, shape->back()));
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  Shape shape = OCTET_TRY(shape_of(outputs[0]));
  auto x = OCTET_TRY(weight_codes(c.inputs[0]));
  const auto w = OCTET_TRY(weight_codes(c.inputs[1]));
  const auto x_scale = OCTET_TRY(c.inputs[2].to_floats());
  auto scales = OCTET_TRY(c.inputs[3].to_floats());
  if (x_scale.size() != 1) return error("{} scales of x; give one", x_scale.size());
  if (c.has(5)) {
    const auto zero = OCTET_TRY(weight_codes(c.inputs[5]));
    if (zero.size() != 1) return error("{} zero points of x; give one", zero.size());
    for (int32_t& v : x)
      v -= zero[0];
  }
  for (float& v : scales)
    v = x_scale[0] * v;
  const auto count = static_cast<int64_t>(scales.size());
  const Tensor multiplier = Tensor::of<float>({count}, scales);
  const auto sums = rows_sums(x, w, c.inputs[1].shape(), OCTET_TRY(element_count(shape)));
  const EpilogueInputs in{.multiplier = &multiplier, .bias = c.has(4) ? &c.inputs[4] : nullptr};
  if (const auto function = OCTET_TRY(parse_function(c.node, to_floats(), false)))
    return one(OCTET_TRY(apply_function(*function, to_floats(), in, sums, std::move(shape))));
  return one(OCTET_TRY(apply_epilogue(to_floats(), in, sums, std::move(shape))));
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

} // namespace octet::native::op_QScaledGemm
