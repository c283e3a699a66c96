// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ DQ ─┬▶ MatMul     =>    x ─▶ Q ─▶ DQ ─────────┬▶ MatMul
//   codes ─▶ DQ ──┘                   codes ─▶ DQ ─▶ Max ──┘
//   x ─▶ Q ─▶ DQ ─▶ layer       =>    x ─▶ Q ─▶ DQ ─▶ Max ─▶ layer
//   x ─▶ Relu ─▶ Q ─▶ DQ ─▶ y   =>    x ─▶ Relu ─▶ Max ─▶ Q ─▶ DQ ─▶ y
// Codes that ONNX Runtime takes for 8 bits and has no kernel for, and a MatMul that it fuses although
// its weight is in blocks, what its kernel does not know of a layer, and a layer whose float weight it
// would quantize: a Max of one input, which its rewriting neither removes nor moves Q or DQ past,
// keeps them apart from the layer, and that in float. The same keeps a Pad apart from a pool, and a Q
// from an output of the graph. Exact: it hands on what comes in. Source: docs/targets.md 8.
#include "graph/label.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/prepared.h"

namespace octet {

namespace {

/// The blocks of a stored weight with which a MatMul is fused, the rows of one with which a Gemm is.
std::optional<MisreadCodes> fused_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const bool gemm = node.is("Gemm");
  if (!node.is("MatMul") && !gemm) return std::nullopt;
  const Node* weight = onnxruntime_dequantize_before(graph, context.uses, node.input(1));
  if (weight == nullptr || (!gemm && qdq::written(graph, *weight).block == 0) ||
      graph.constant(weight->input(0)) == nullptr)
    return std::nullopt;
  if (!onnxruntime_fused_fault(graph, context.uses, context.target, node)) return std::nullopt;
  return MisreadCodes{.dequantize = weight, .input = 1};
}

std::optional<MisreadCodes> dilated_pool(const RepairContext& context, const Node& node) {
  if (!onnxruntime_dilates(node)) return std::nullopt;
  return onnxruntime_refused_pool(context.graph, context.uses, context.target, node);
}

/// The Pad that a pool takes over and makes another one of.
std::optional<MisreadCodes> merged_pad(const RepairContext& context, const Node& node) {
  const auto merged = onnxruntime_merged_pad(context.graph, context.uses, node);
  if (!merged || onnxruntime_misread_pad(context.graph, context.target, node, *merged).empty())
    return std::nullopt;
  return MisreadCodes{.dequantize = merged->pad};
}

/// int8 codes before a MatMul that becomes a Gemm, which unsign_moved did not make uint8.
std::optional<MisreadCodes> moved_before_gemm(const RepairContext& context, const Node& node) {
  const auto moved = onnxruntime_moved_int8(context.graph, context.uses, node);
  if (!moved || moved->last != nullptr) return std::nullopt;
  return MisreadCodes{.dequantize = moved->dequantize};
}

} // namespace

std::optional<Repair> hide_codes(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  auto codes = onnxruntime_misread_codes(graph, context.uses, context.target, node);
  if (!codes) codes = onnxruntime_misread_clamp(graph, context.uses, node);
  if (!codes) codes = dilated_pool(context, node);
  if (!codes) codes = onnxruntime_lost_softmax(graph, context.uses, context.target, node);
  if (!codes) codes = onnxruntime_rounded_weight(graph, context.uses, context.target, node);
  if (!codes) codes = onnxruntime_misread_columns(graph, context.target, node);
  if (!codes) codes = fused_weight(context, node);
  if (!codes) codes = moved_before_gemm(context, node);
  if (!codes) codes = merged_pad(context, node);
  if (!codes) codes = onnxruntime_quantized_output(graph, context.uses, context.target, node);
  if (!codes) return std::nullopt;
  NodeId reader = node.id;
  size_t input = codes->input;
  if (codes->quantize != nullptr) {
    reader = codes->quantize->id;
    input = 0;
  } else {
    for (const Node* maker = graph.producer(node.input(input)); maker != codes->dequantize;
         maker = graph.producer(maker->input(0))) {
      reader = maker->id;
      input = 0;
    }
  }
  const bool apart = codes->dequantize != nullptr && !is_dequantize(*codes->dequantize);
  Patch patch(graph,
              apart ? "a Max of one input keeps it apart from what it reads"
                    : "a Max of one input keeps Q/DQ of such codes apart from the layer",
              Exactness::kExact);
  patch.from(node);
  const auto part = [&](NodeId from, size_t index) {
    const ValueId x = graph.node(from).input(index);
    patch.set_input(from, index, patch.emit("Max", {x}, {}, graph.value(x).name + "_apart"));
  };
  part(reader, input);
  // The weight of a MatMul without codes before it becomes one of MatMulNBits, which rounds.
  const Node* weight = node.is("MatMul") ? graph.producer(node.input(1)) : nullptr;
  if (codes->dequantize != nullptr && codes->input == 0 && weight != nullptr &&
      is_dequantize(*weight) && graph.constant(weight->input(0)) != nullptr)
    part(node.id, 1);
  return Repair::exact(std::move(patch));
}

} // namespace octet
