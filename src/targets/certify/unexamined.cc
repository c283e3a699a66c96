// SPDX-License-Identifier: Apache-2.0
#include "targets/certify/unexamined.h"

#include <algorithm>
#include <array>

#include "core/format.h"
#include "graph/bodies.h"
#include "passes/coded_operators.h"
#include "targets/checks.h"

namespace octet {

namespace {

constexpr std::string_view kNative = "octet.native";

template <size_t N>
bool is_named(const std::array<std::string_view, N>& names, const Node& node) {
  return std::find(names.begin(), names.end(), node.op_type) != names.end();
}

/// com.microsoft's other operators on codes that add up no products.
constexpr std::array<std::string_view, 7> kNoProducts = {
    "QuantizeLinear",      "DequantizeLinear", "QEmbedLayerNormalization",  "QuantizeWithOrder",
    "DequantizeWithOrder", "QOrderedGelu",     "QOrderedLayerNormalization"};

bool is_8_bit(const Graph& graph, ValueId id) {
  if (!id.valid()) return false;
  const DType type = graph.value(id).type.type;
  return is_byte(type) || type == DType::kUndefined;
}

bool body_multiplies(const Graph& body, int depth) {
  if (depth > 64) return true;
  for (const NodeId id : body.nodes()) {
    const Node& node = body.node(id);
    if (is_dequantize(node) || multiplies_codes(node)) return true;
    for (const Body& inner : bodies_of(node))
      if (body_multiplies(*inner.graph, depth + 1)) return true;
  }
  return false;
}

} // namespace

bool multiplies_codes(const Node& node) {
  constexpr std::array<std::string_view, 4> kStandard = {"QLinearConv", "QLinearMatMul",
                                                         "ConvInteger", "MatMulInteger"};
  constexpr std::array<std::string_view, 11> kMicrosofts = {"QGemm",
                                                            "MatMulIntegerToFloat",
                                                            "DynamicQuantizeMatMul",
                                                            "QAttention",
                                                            "QLinearConv",
                                                            "DynamicQuantizeLSTM",
                                                            "QOrderedMatMul",
                                                            "QOrderedAttention",
                                                            "MatMulNBits",
                                                            "QMoE",
                                                            "QOrderedLongformerAttention"};
  constexpr std::array<std::string_view, 4> kNatives = {"QGemm", "QConv", "QMatMul",
                                                        "QDynamicGemm"};
  if (node.domain.empty()) return is_named(kStandard, node);
  if (node.domain == kMicrosoft) return is_named(kMicrosofts, node);
  return node.domain == kNative && is_named(kNatives, node);
}

std::optional<std::string> may_multiply_codes(const Graph& graph, const Node& node) {
  for (const auto& [key, body] : bodies_of(node)) {
    const bool captures_real =
        std::any_of(node.captures.begin(), node.captures.end(), [&](ValueId id) {
          const Node* producer = id.valid() ? graph.producer(id) : nullptr;
          return producer != nullptr && is_dequantize(*producer);
        });
    if (captures_real || body_multiplies(*body, 0)) return "quantized layers stand in its " + key;
  }
  if (multiplies_codes(node)) return "products of this form are not known";
  if (node.domain.empty() || node.domain == "ai.onnx.ml" || node.domain == kNative)
    return std::nullopt;
  if (is_qlinear(node) || (node.domain == kMicrosoft && is_named(kNoProducts, node)))
    return std::nullopt;
  const bool codes = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId id) { return is_8_bit(graph, id); });
  if (!codes) return std::nullopt;
  return fmt::format("what {} of the domain {} does with codes is not known", node.op_type,
                     node.domain);
}

} // namespace octet
