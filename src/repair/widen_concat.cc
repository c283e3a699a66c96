// SPDX-License-Identifier: Apache-2.0
//   DQ(f16), DQ(f16) ─▶ Concat ─▶ Q(s, f16)   =>   DQ(f16), DQ(f16) ─▶ Concat ─▶ Cast ─▶ Q(s, f32)
// ONNX Runtime makes QLinearConcat of the left form and fails to load it: that has no f16.
// Rounding: Q divides in f32 instead of f16 (ONNX Runtime does so for f16 too), a tie may take the
// other code. Source: docs/targets.md 8.
#include "ops/qdq/site.h"
#include "repair/qoperator.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

std::optional<Repair> widen_concat(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (is_cuda(context.target)) return std::nullopt;
  const Node* quantize = onnxruntime_half_concat(graph, context.uses, node);
  if (quantize == nullptr) return std::nullopt;
  Patch patch(graph,
              "Q behind a Concat of f16 works on f32: ONNX Runtime has no f16 for both in one",
              Exactness::kRounding);
  patch.from(*quantize);
  const std::string name = name_of(graph, *quantize);
  const auto to_float = [&](ValueId value, const std::string& cast) {
    Attributes to;
    to["to"].value = static_cast<int64_t>(DType::kFloat32);
    return patch.emit("Cast", {value}, std::move(to), cast);
  };
  std::vector<ValueId> inputs = quantize->inputs;
  inputs[0] = to_float(inputs[0], name + "_cast");
  const qdq::Written said = qdq::written(graph, *quantize);
  if (const Tensor* scale = said.scales) {
    const auto values = scale->to_doubles();
    if (!values.ok()) return std::nullopt;
    auto wide = Tensor::from_doubles(DType::kFloat32, scale->shape(), *values);
    if (!wide.ok()) return std::nullopt;
    inputs[1] = patch.constant(name + "_scale", *wide);
  } else {
    inputs[1] = to_float(said.scale, name + "_scale");
  }
  patch.replace(quantize->output(0), patch.emit("QuantizeLinear", std::move(inputs),
                                                quantize->attributes, name, quantize->domain));
  return Repair{std::move(patch), one_step(graph, said.scale)};
}

} // namespace octet
