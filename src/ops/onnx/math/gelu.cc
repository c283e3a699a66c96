// SPDX-License-Identifier: Apache-2.0
// Gelu (opset 20). approximate = none: y = x / 2 * (1 + erf(x / sqrt 2));
// tanh: y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
#include <cmath>
#include <numbers>

#include "core/format.h"
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Gelu {
namespace {

struct GeluAttrs {
  bool tanh = false;
};

Result<GeluAttrs> parse(const Node& node) {
  const std::string approximate = node.attr_string("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return error("approximate is \"{}\"; use none or tanh", approximate);
  return GeluAttrs{.tanh = approximate == "tanh"};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(parse(ctx.node));
  return infer_unary(ctx, kFloatTypes);
}

double gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}

double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const GeluAttrs a = OCTET_TRY(parse(ctx.node));
  return eval_unary(infer, ctx, {.real = a.tanh ? gelu_tanh : gelu, .integer = {}, .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 20,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Gelu
