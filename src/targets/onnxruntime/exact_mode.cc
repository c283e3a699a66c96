// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's exact mode does not load or run. It turns int8 weights with codes of more than
// 7 bits into uint8, under a name of its own for each constant: that fails for the second reader of
// one; products of int8 activations have no kernel for uint8 weights; and a weight without a zero
// point gets one of one element, which DequantizeLinear refuses beside several scales, or ends the
// process in older releases. Source: docs/targets.md 8.
#include "targets/onnxruntime/exact_mode.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

/// Before it, the third input of DQ is written to where there is none.
constexpr int kExactModeMakesZeroPointSince = 130;

bool has_codes_beyond_7_bits(const Tensor* codes) {
  constexpr int kSevenBits = 64;
  if (codes == nullptr || codes->type() != DType::kInt8) return false;
  const Tensor aligned = codes->aligned();
  const auto values = aligned.data<int8_t>();
  return std::any_of(values.begin(), values.end(),
                     [](int8_t v) { return v < -kSevenBits || v > kSevenBits; });
}

struct IntegerProduct {
  std::string_view domain, op_type;
  size_t weight; ///< which input
};

constexpr IntegerProduct kIntegerProducts[] = {
    {"", "QLinearConv", 3},
    {"", "QLinearMatMul", 3},
    {kMicrosoft, "QGemm", 3},
    {kMicrosoft, "MatMulIntegerToFloat", 1},
};

} // namespace

bool becomes_uint8(const Graph& graph, const Node& node) {
  return is_dequantize(node) && has_codes_beyond_7_bits(graph.constant(node.input(0)));
}

namespace onnxruntime {

namespace {

void find_exact_mode_kernel(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  const auto* product =
      std::find_if(std::begin(kIntegerProducts), std::end(kIntegerProducts), [&](const auto& p) {
        return node.domain == p.domain && node.op_type == p.op_type;
      });
  if (product == std::end(kIntegerProducts) || !node.input(0).valid() ||
      graph.value(node.input(0)).type.type != DType::kInt8 ||
      !has_codes_beyond_7_bits(graph.constant(node.input(product->weight))))
    return;
  found.add(node,
            "\"Failed to find kernel\": in its exact mode (session.x64quantprecision) ONNX Runtime "
            "1.31 has none for int8 activations, since int8 weights become uint8 there",
            "quantize activations to uint8, or write the file as Q/DQ (quantize_static: "
            "activation_type=QuantType.QUInt8 or quant_format=QuantFormat.QDQ)");
}

void find_shared_constant(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node)) return;
  int codes = 0, zeros = 0;
  for (const Uses::Use& use : context.uses.of(node.input(0)))
    codes += context.uses.count(graph.node(use.node).output(0));
  const ValueId zero = qdq::written(graph, node).zero;
  const auto of_zero_point = zero.valid() ? context.uses.of(zero) : std::span<const Uses::Use>();
  // The weights are read only where something is shared.
  if ((codes < 2 && of_zero_point.size() < 2) || !becomes_uint8(graph, node)) return;
  for (const Uses::Use& use : of_zero_point)
    zeros += use.input == 2 && becomes_uint8(graph, graph.node(use.node)) ? 1 : 0;
  if (codes < 2 && zeros < 2) return;
  found.add(node,
            std::string("\"Attempt to replace the existing tensor\": in its exact mode "
                        "(session.x64quantprecision) ONNX Runtime 1.31 fails to load int8 "
                        "weights whose ") +
                (codes < 2 ? "zero point several weights share" : "codes several operators read"),
            "give each reader its own codes and zero point: octet repair does");
}

void find_exact_mode_zero_point(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || qdq::written(graph, node).zero.valid()) return;
  const bool ends = context.target.version < kExactModeMakesZeroPointSince;
  const bool several =
      static_count(graph, node.input(1)).value_or(1) > 1 || node.attr_int("block_size", 0) != 0;
  if (!(ends || several) || !becomes_uint8(graph, node)) return;
  const auto readers = context.uses.of(node.output(0));
  // Those read the codes, with a zero point for all.
  const auto is_fused = [&](const Uses::Use& use) {
    return is_fused_with_codes(onnxruntime_form(graph, context.target, graph.node(use.node)));
  };
  if (!ends && !readers.empty() && std::all_of(readers.begin(), readers.end(), is_fused)) return;
  found.add(node,
            ends ? "in its exact mode (session.x64quantprecision) ONNX Runtime before 1.30 ends "
                   "the process when it loads int8 weights without a zero point"
                 : "\"x_zero_point must be null\": in its exact mode (session.x64quantprecision) "
                   "ONNX Runtime 1.31 gives int8 weights without a zero point one of one element, "
                   "which DequantizeLinear does not take beside several scales",
            "write a zero point for each scale: octet repair does");
}

} // namespace

constexpr TargetRule kSharedConstant = {.id = "shared-constant",
                                        .clause = "8",
                                        .provider = Provider::kCpu,
                                        .severity = Severity::kWarning,
                                        .find = find_shared_constant,
                                        .mends = {Mend::kSeparateConstants}};
constexpr TargetRule kExactModeKernel = {.id = "exact-mode-kernel",
                                         .clause = "8",
                                         .provider = Provider::kCpu,
                                         .severity = Severity::kWarning,
                                         .find = find_exact_mode_kernel};
constexpr TargetRule kExactModeZeroPoint = {.id = "exact-mode-zero-point",
                                            .clause = "8",
                                            .provider = Provider::kCpu,
                                            .severity = Severity::kWarning,
                                            .find = find_exact_mode_zero_point,
                                            .mends = {Mend::kAddZeroPoint}};

} // namespace onnxruntime

} // namespace octet
