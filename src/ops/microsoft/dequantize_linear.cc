// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear (com.microsoft 1): as DequantizeLinear of ai.onnx with opset 21 has it, for the
// types that older opsets of ai.onnx lack.
#include "ops/definitions.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/types.h"

namespace octet::ms::op_DequantizeLinear {
namespace {

constexpr int64_t kVersion = 21;

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return onnx::op_DequantizeLinear::facets.infer.fn({ctx.node, kVersion, ctx.inputs, {}});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return onnx::op_DequantizeLinear::facets.eval.fn(
      {.node = ctx.node, .version = kVersion, .inputs = ctx.inputs, .run_body = {}, .seed = 0});
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("is itself a step between codes and float");
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = quant,
    .motion = nothing_moves,
    .range = dequantized_range,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_DequantizeLinear
