// SPDX-License-Identifier: Apache-2.0
// FusedConv (com.microsoft 1). y = f(Conv(x, w, b) + z) with Conv of ai.onnx and f the activation
// that the node names; b and z (of the shape of y) may be omitted.
#include "core/format.h"
#include "ops/definitions.h"
#include "ops/microsoft/fused_activation.h"
#include "ops/shared/elementwise.h"

namespace octet::ms::op_FusedConv {
namespace {

constexpr int64_t kVersion = 11;

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 4));
  const Node conv = product_of(ctx.node, "Conv");
  const std::vector<InputInfo> inputs(
      ctx.inputs.begin(),
      ctx.inputs.begin() + static_cast<ptrdiff_t>(std::min<size_t>(ctx.inputs.size(), 3)));
  auto outputs = OCTET_TRY(onnx::op_Conv::facets.infer.fn({conv, kVersion, inputs, {}}));
  if (ctx.has(3)) {
    OCTET_TRY(check_input(ctx, 3, kFloatTypes));
    const auto z = ctx.input(3).type.static_shape(), y = outputs[0].type.static_shape();
    if (z && y && *z != *y)
      return error("z has shape {} and the convolution {}; make them equal", to_string(*z),
                   to_string(*y));
  }
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Node conv = product_of(ctx.node, "Conv");
  std::vector<Tensor> inputs = ctx.inputs;
  if (inputs.size() > 3) inputs.resize(3);
  Tensor y = OCTET_TRY(onnx::op_Conv::facets.eval.fn(
      {.node = conv, .version = kVersion, .inputs = inputs, .run_body = {}, .seed = 0}))[0];
  if (ctx.has(3))
    y = OCTET_TRY(map_binary(
        y, ctx.inputs[3],
        {.real = [](double a, double b) { return a + b; }, .integer = {}, .natural = {}}));
  return one(OCTET_TRY(activated(OCTET_TRY(fused_activation(ctx.node)), y)));
}

Role roles(const Node&, size_t input) {
  return input == 1 ? Role::kWeight : input == 2 ? Role::kBias : Role::kData;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::ms::op_FusedConv
