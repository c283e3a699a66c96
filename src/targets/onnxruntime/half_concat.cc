// SPDX-License-Identifier: Apache-2.0
// QLinearConcat, which it makes of Q/DQ around a Concat, takes float32 scales only.
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_half_concat(const CheckContext& context, const Node& node, Found& found) {
  if (onnxruntime_half_concat(context.graph, context.uses, node) != nullptr)
    found.add(
        node,
        "\"Type 'tensor(float16)' of input parameter [...] of operator (QLinearConcat) [...] is "
        "invalid\": ONNX Runtime 1.31 fails to load Q/DQ in float16 around a Concat",
        "let Q behind the Concat work on f32: octet repair does; or quantize the model in "
        "float32");
}

} // namespace

constexpr TargetRule kHalfConcat = {.id = "half-concat",
                                    .clause = "8",
                                    .provider = Provider::kCpu,
                                    .measured = 131,
                                    .find = find_half_concat,
                                    .mends = {Mend::kWidenConcat}};

} // namespace octet::onnxruntime
