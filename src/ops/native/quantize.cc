// SPDX-License-Identifier: Apache-2.0
// octet.native Quantize (1). x: f32. Attributes: scale, zero_point, to (i8 or u8). QuantizeLinear
// for one scale: true division, round half even, add, saturate; NaN gives the zero point.
#include "core/format.h"
#include "core/numerics/round.h"
#include "ops/native/epilogue.h"
#include "ops/qdq/quant_layout.h"

namespace octet::native::op_Quantize {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kF32));
  const auto to = static_cast<DType>(c.node.attr_int("to", static_cast<int64_t>(DType::kInt8)));
  if (!kCodes.has(to)) return error("to {}; use i8 (3) or u8 (2)", static_cast<int>(to));
  OCTET_TRY(parse_zero_point(c.node, "zero_point", to));
  return one(to, c.input(0).type.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  const float scale = c.node.attr_float("scale", 1);
  const int32_t zero = OCTET_TRY(parse_zero_point(c.node, "zero_point", y.type()));
  const CodeRange range = *code_range(y.type());
  auto out = y.mutable_bytes();
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = static_cast<std::byte>(numerics::quantize(x[i], scale, zero, range.lo, range.hi));
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

} // namespace octet::native::op_Quantize
