// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear (opset 11). Range of the whole tensor with 0 in it, u8: scale = (max - min)
// / 255, zero point = saturate(round_half_even(0 - min / scale)), y = QuantizeLinear(x, scale, zero
// point). All in float. A range of 0 takes a scale of 1. NaN is passed over in the range and
// quantizes to the zero point.
#include <algorithm>

#include "core/numerics/round.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_DynamicQuantizeLinear {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, {DType::kFloat32}));
  const std::vector<Dim> scalar;
  return std::vector<OutputInfo>{one(DType::kUint8, c.input(0).type.shape)[0],
                                 one(DType::kFloat32, scalar)[0], one(DType::kUint8, scalar)[0]};
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  float lo = 0, hi = 0;
  for (float v : x) {
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  const float scale = lo == hi ? 1.0F : (hi - lo) / 255.0F;
  const int32_t zero = numerics::round_saturate(0 - lo / scale, 0, 0, 255);
  std::transform(x.begin(), x.end(), y.mutable_data<uint8_t>().begin(), [&](float v) {
    return static_cast<uint8_t>(numerics::quantize(v, scale, zero, 0, 255));
  });
  return std::vector<Tensor>{std::move(y), Tensor::scalar(scale),
                             Tensor::scalar(static_cast<uint8_t>(zero))};
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("is itself a step from float to codes");
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true, .unchanged = true},
};

} // namespace octet::onnx::op_DynamicQuantizeLinear
