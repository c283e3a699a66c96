// SPDX-License-Identifier: Apache-2.0
// Shrink (opset 9). y = x + bias below -lambd, x - bias above lambd, 0 between. Integers are
// computed as reals and cut off towards 0; what does not fit wraps.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Shrink {
namespace {

struct ShrinkAttrs {
  double bias = 0.0;
  double lambd = 0.5;
};

double shrink(const ShrinkAttrs& a, double x) {
  return x < -a.lambd ? x + a.bias : x > a.lambd ? x - a.bias : 0;
}

/// The integer part modulo 2^64.
int64_t cut_off(double x) {
  if (!std::isfinite(x)) return 0;
  const auto magnitude = static_cast<uint64_t>(std::fmod(std::trunc(std::abs(x)), 0x1p64));
  return static_cast<int64_t>(x < 0 ? 0 - magnitude : magnitude);
}

ShrinkAttrs parse(const Node& node) {
  return {
      .bias = node.attr_float("bias", 0.0F),
      .lambd = node.attr_float("lambd", 0.5F),
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const ShrinkAttrs a = parse(ctx.node);
  return eval_unary(
      infer_unary<kNumericTypes>, ctx,
      {.real = [a](double x) { return shrink(a, x); },
       .integer = [a](int64_t x) { return cut_off(shrink(a, static_cast<double>(x))); },
       .natural =
           [a](uint64_t x) {
             return static_cast<uint64_t>(cut_off(shrink(a, static_cast<double>(x))));
           }});
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer_unary<kNumericTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Shrink
