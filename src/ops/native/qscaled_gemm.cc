// SPDX-License-Identifier: Apache-2.0
// octet.native QScaledGemm (1). x: [.., K] i8/u8, w: [N, K] i8, x_scale: f32 of one element, w_scale:
// f32 [N] or [1], bias: f32 [N], x_zero: one code like x. What is known of x when it runs only are
// its scale and zero point: DynamicQuantizeLinear's. Attributes: program and constants of a
// function of one number (optional). docs/native-operators.md, docs/numerics.md.
#include <limits>

#include "core/format.h"
#include "core/numerics/epilogue.h"
#include "ops/native/epilogue.h"

namespace octet::native::op_QScaledGemm {
namespace {

Status check_one(const InferContext& c, size_t input, std::string_view what) {
  const auto shape = c.input(input).type.static_shape();
  if (shape && product(*shape) != 1)
    return error("{} of {} elements; give one", what, product(*shape));
  return ok_status();
}

Result<std::optional<EpilogueFunction>> function_of(const Node& node) {
  EpilogueAttrs floats;
  floats.to = DType::kFloat32;
  return parse_function(node, floats, false);
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 4, 6));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, {DType::kInt8}));
  OCTET_TRY(check_input(c, 2, kF32));
  OCTET_TRY(check_input(c, 3, kF32));
  OCTET_TRY(check_optional(c, 4, kF32));
  OCTET_TRY(check_optional(c, 5, {c.input(0).type.type}));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  OCTET_TRY(check_rank(c, 1, 2, 2));
  OCTET_TRY(check_one(c, 2, "a scale of x"));
  if (c.has(5)) OCTET_TRY(check_one(c, 5, "a zero point of x"));
  OCTET_TRY(function_of(c.node));
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  if (!x.has_rank() || !w.has_rank()) return one(DType::kFloat32, std::nullopt);
  OCTET_TRY(merge_dims(x.shape->back(), (*w.shape)[1], "inner sizes of the product"));
  const auto scales = c.input(3).type.static_shape();
  if (!scales || product(*scales) != 1)
    OCTET_TRY(check_vector(c, 3, (*w.shape)[0], "scales and output channels"));
  OCTET_TRY(check_vector(c, 4, (*w.shape)[0], "bias elements and output channels"));
  std::vector<Dim> shape = *x.shape;
  shape.back() = (*w.shape)[0];
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  auto x = OCTET_TRY(weight_codes(c.inputs[0]));
  const auto w = OCTET_TRY(weight_codes(c.inputs[1]));
  const auto x_scale = OCTET_TRY(c.inputs[2].to_floats());
  const auto w_scale = OCTET_TRY(c.inputs[3].to_floats());
  const int64_t n = c.inputs[1].dim(0), k = c.inputs[1].dim(1);
  std::vector<float> bias(static_cast<size_t>(n), 0.0F);
  if (c.has(4)) bias = OCTET_TRY(c.inputs[4].to_floats());
  if (x_scale.size() != 1) return error("{} scales of x; give one", x_scale.size());
  if (c.has(5)) {
    const auto zero = OCTET_TRY(weight_codes(c.inputs[5]));
    if (zero.size() != 1) return error("{} zero points of x; give one", zero.size());
    for (int32_t& v : x)
      v -= zero[0];
  }
  const auto function = OCTET_TRY(function_of(c.node));
  auto out = y.mutable_data<float>();
  for (size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const auto channel = static_cast<size_t>(at % n);
    const int64_t acc = dot(x.data() + at / n * k, w.data() + at % n * k, k);
    if (static_cast<int32_t>(acc) != acc)
      return Error("a sum does not fit 32 bits; split the layer");
    const float m = x_scale[0] * w_scale[w_scale.size() == 1 ? 0 : channel];
    out[i] = numerics::scale_to_float(static_cast<int32_t>(acc), m, bias[channel], -kInf, kInf);
    if (function) out[i] = function->program.eval({&out[i], 1});
  }
  return one(std::move(y));
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
