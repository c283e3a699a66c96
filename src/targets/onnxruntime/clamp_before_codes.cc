// SPDX-License-Identifier: Apache-2.0
// A Relu or Clip in front of a Q that makes codes of FP8, 4 or 2 bits. ONNX Runtime drops the Relu
// as though the lowest code were 0, and looks for a zero point of 8 or 16 bits to compare a Clip
// with. Source: docs/targets.md 8 (measured).
#include "core/format.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

/// Its zero point is its lowest code, which stands for 0.
bool begins_at_zero(const qdq::Written& quantize) {
  const auto range = code_range(quantize.codes_type);
  return range && quantize.zeros->at(0) == range->lo;
}

} // namespace

std::optional<MisreadCodes>
onnxruntime_misread_clamp(const Graph& graph, const Uses& uses, const Node& node) {
  if (!node.is("Relu") && !node.is("Clip")) return std::nullopt;
  constexpr int kMostSteps = 16;
  const Node* reader = nullptr;
  ValueId value = node.output(0);
  for (int step = 0; step < kMostSteps; ++step) {
    const NodeId next = uses.single_consumer(value);
    if (!next.valid()) return std::nullopt;
    reader = &graph.node(next);
    if (!onnxruntime_moves_codes_past(*reader)) break;
    value = reader->output(0);
  }
  if (!is_quantize(*reader)) return std::nullopt;
  const qdq::Written said = qdq::written(graph, *reader);
  const DType type = said.codes_type;
  const bool few =
      onnxruntime_takes_for_bytes(type) || type == DType::kInt4 || type == DType::kUint4;
  const bool one_scale = said.scales != nullptr && said.scales->count() == 1;
  if (!few || !one_scale || said.zeros == nullptr || said.zeros->count() != 1) return std::nullopt;
  MisreadCodes out{.quantize = reader};
  if (node.is("Relu")) {
    if (begins_at_zero(said)) return std::nullopt;
    out.said = fmt::format("ONNX Runtime 1.31 drops it, as though the lowest code of {} behind it "
                           "were 0: negative values come through",
                           name(type));
    return out;
  }
  // What a graph's input goes into, beside bounds, stays as it is.
  const bool bounded = node.input(1).valid() || node.input(2).valid();
  if (bounded && graph.producer(node.input(0)) == nullptr) return std::nullopt;
  out.said = fmt::format("\"Unexpected data type for QuantizeLinear input y_zero_point\": ONNX "
                         "Runtime 1.31 fails to load a Clip before codes of {}",
                         name(type));
  return out;
}

namespace onnxruntime {

namespace {

void find_clamp_before_codes(const CheckContext& context, const Node& node, Found& found) {
  if (const auto codes = onnxruntime_misread_clamp(context.graph, context.uses, node))
    found.add(node, codes->said,
              "put a Max of one input between it and Q: octet repair does; or use codes of 8 or "
              "16 bits");
}

} // namespace

constexpr TargetRule kClampBeforeCodes = {.id = "clamp-before-codes",
                                          .clause = "8",
                                          .provider = Provider::kCpu,
                                          .measured = 131,
                                          .find = find_clamp_before_codes,
                                          .mends = {Mend::kHideCodes}};

} // namespace onnxruntime

} // namespace octet
