// SPDX-License-Identifier: Apache-2.0
// Products whose float weight and float bias ONNX Runtime quantizes when it loads the file. Source:
// docs/targets.md 8 (measured), "Float weight" and "Float bias".
#include "ops/evaluate.h"
#include "ops/qdq/site.h"
#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

/// A Q takes what the layer gives, past Relu and Clip and then past what moves values; nothing else
/// does.
bool reaches_quantize(const Graph& graph, const Uses& uses, ValueId value) {
  bool moved = false;
  for (int hops = 0; hops < kMostMovesOfCodes; ++hops) {
    const std::span<const Uses::Use> readers = uses.of(value);
    if (readers.size() != 1 || (moved && !uses.single_consumer(value).valid())) return false;
    const Node& reader = graph.node(readers.front().node);
    if (is_quantize(reader)) return true;
    if (onnxruntime_moves_codes_past(reader))
      moved = true;
    else if (moved || (!reader.is("Relu") && !reader.is("Clip")))
      return false;
    value = reader.output(0);
  }
  return false;
}

/// Sets reader and input, and bias where there is one. False: a bias that is no constant of one axis.
bool find_bias(const Graph& graph, const Uses& uses, const Node& node, PreparedProduct& out) {
  if (node.is("MatMul")) {
    out.reader = onnxruntime_gemm_bias(graph, uses, node);
    if (out.reader == nullptr) return false;
    out.input = out.reader->input(0) == node.output(0) ? 1 : 0;
  } else if (node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm")) {
    out.reader = &node;
    out.input = 2;
  } else {
    return false;
  }
  const ValueId bias = out.reader->input(out.input);
  if (!bias.valid()) return true;
  out.bias = graph.constant(bias);
  return out.bias != nullptr && is_float(out.bias->type()) && out.bias->rank() == 1;
}

} // namespace

std::optional<PreparedProduct> onnxruntime_prepared_product(const Graph& graph,
                                                            const Uses& uses,
                                                            const TargetDef& target,
                                                            const Node& node) {
  if (is_cuda(target) || target.version < kFloatBiasSince) return std::nullopt;
  PreparedProduct out;
  if (!find_bias(graph, uses, node, out)) return std::nullopt;
  out.x = onnxruntime_dequantize_before(graph, uses, node.input(0));
  const Tensor* x_scale = out.x == nullptr ? nullptr : qdq::written(graph, *out.x).scales;
  if (x_scale == nullptr || x_scale->count() != 1) return std::nullopt;
  if (!reaches_quantize(graph, uses, out.reader->output(0))) return std::nullopt;
  out.x_scale = x_scale->at(0);
  return out;
}

bool onnxruntime_rounds_weight(const Graph& graph,
                               const Uses& uses,
                               const TargetDef& target,
                               const Node& node) {
  if (node.input(1).valid() && graph.value(node.input(1)).type.type != DType::kFloat32)
    return false;
  if (!onnxruntime_prepared_product(graph, uses, target, node)) return false;
  const ValueId weight = node.input(1);
  if (graph.constant(weight) != nullptr) return true;
  // It does not fold a DQ.
  return OnnxRuntimeCodes(graph).is_folded(weight) && constant_value(graph, weight).has_value();
}

} // namespace octet
