// SPDX-License-Identifier: Apache-2.0
// PRelu (opset 7). y = x for x >= 0, slope * x below. ONNX broadcasts slope to x alone. As
// ONNX Runtime does, x is broadcast to a larger slope too; then the output has no shape before it is
// computed, as ONNX's own inference says x's and whoever writes the true one contradicts it.
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_PRelu {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  auto outputs = OCTET_TRY(infer_binary(ctx, kNumericTypes));
  const TypeInfo& x = ctx.input(0).type;
  const auto shape = x.static_shape();
  const auto both = outputs[0].type.static_shape();
  const bool grows = ctx.input(1).type.has_rank() && x.has_rank() &&
                     (ctx.input(1).type.rank() > x.rank() || (shape && both && *shape != *both));
  if (grows)
    outputs[0].type.shape.reset();
  else
    outputs[0].type.shape = x.shape;
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_binary(
      infer, ctx,
      {.real = [](double x, double slope) { return x < 0 ? slope * x : x; },
       .integer = [](int64_t x, int64_t slope) { return x < 0 ? wrap_mul(slope, x) : x; },
       .natural = [](uint64_t x, uint64_t) { return x; }});
}

Role roles(const Node&, size_t input) {
  return input == 1 ? Role::kWeight : Role::kData;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("a slope for each channel needs a table for each channel");
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_PRelu
