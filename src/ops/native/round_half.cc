// SPDX-License-Identifier: Apache-2.0
// octet.native RoundHalf (1), f32 or f64. The nearest number of a 16-bit type, half to even,
// overflow to infinity: what is left of x in f16 (to = 10) or bf16 (to = 16).
#include "core/codec.h"
#include "core/format.h"
#include "core/numerics/round.h"
#include "ops/native/unary.h"

namespace octet::native::op_RoundHalf {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  const auto to = static_cast<DType>(c.node.attr_int("to", 0));
  if (to != DType::kFloat16 && to != DType::kBfloat16)
    return error("attribute to is {}; use 10 (f16) or 16 (bf16)", c.node.attr_int("to", 0));
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, {DType::kFloat32, DType::kFloat64}));
  return one(c.input(0).type);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const bool half = c.node.attr_int("to", 0) == static_cast<int64_t>(DType::kFloat16);
  if (c.inputs[0].type() == DType::kFloat32)
    return map_float(c, infer, half ? numerics::round_to_f16 : numerics::round_to_bf16);
  std::vector<double> values = OCTET_TRY(c.inputs[0].to_doubles());
  const FloatFormat& format = half ? kF16 : kBF16;
  for (double& v : values)
    v = decode(format, encode(format, v, Saturate::kNo));
  return one(OCTET_TRY(Tensor::from_doubles(DType::kFloat64, c.inputs[0].shape(), values)));
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

} // namespace octet::native::op_RoundHalf
