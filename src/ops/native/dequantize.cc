// SPDX-License-Identifier: Apache-2.0
// octet.native Dequantize (1). x: i8/u8. Attributes: scale, zero_point. y = float(x - zero_point) *
// scale.
#include "core/numerics/round.h"
#include "ops/native/epilogue.h"

namespace octet::native::op_Dequantize {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(parse_zero_point(c.node, "zero_point", c.input(0).type.type));
  return one(DType::kFloat32, c.input(0).type.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_ints());
  const float scale = c.node.attr_float("scale", 1);
  const int32_t zero = OCTET_TRY(parse_zero_point(c.node, "zero_point", c.inputs[0].type()));
  auto out = y.mutable_data<float>();
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = numerics::dequantize(static_cast<int32_t>(x[i]), scale, zero);
  return one(std::move(y));
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
    .facts = kNoFacts,
};

} // namespace octet::native::op_Dequantize
