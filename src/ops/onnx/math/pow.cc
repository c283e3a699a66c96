// SPDX-License-Identifier: Apache-2.0
// Pow (opset 7). z = x^y with broadcasting; since opset 12 y may have another type than x, z has
// the type of x. Integer results are exact and wrap for integer exponents.
#include <cmath>

#include "ops/shared/cast_util.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Pow {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_input(ctx, 1, kNumericTypes));
  if (ctx.version < 12) OCTET_TRY(common_type(ctx, 0, 1));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& y = ctx.input(1).type;
  if (!x.has_rank() || !y.has_rank()) return one(x.type, std::nullopt);
  return one(x.type, OCTET_TRY(broadcast_dims(std::vector<std::vector<Dim>>{*x.shape, *y.shape})));
}

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

int64_t signed_power(int64_t x, int64_t y) {
  if (y >= 0)
    return static_cast<int64_t>(power(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
  if (x == 1 || x == -1) return y % 2 == 0 ? 1 : x;
  return 0;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Tensor& y = ctx.inputs[1];
  const BinaryFn f = {.real = [](double a, double b) { return std::pow(a, b); },
                      .integer = signed_power,
                      .natural = power};
  // Integers stay exact; everything else goes through double.
  const bool whole = !is_float(x.type()) && !is_float(y.type());
  const DType domain = whole ? x.type() : DType::kFloat64;
  const Tensor base = OCTET_TRY(cast(x, domain));
  const Tensor exponent = OCTET_TRY(cast(y, domain));
  const Tensor z = OCTET_TRY(map_binary(base, exponent, f));
  return one(OCTET_TRY(cast(z, x.type())));
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_Pow
