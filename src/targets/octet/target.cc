// SPDX-License-Identifier: Apache-2.0
// octet's own runtime: int8 activations with any zero point, clamps done by Q, functions of one
// int8 tensor as tables. Source: docs/numerics.md, "Integer layers".
#include "ops/native/recurrent.h"
#include "ops/shared/transposed_window.h"
#include "targets/tables.h"

namespace octet {

namespace {

constexpr std::string_view kTable =
    "a function between two int8 tensors is a table: exact and fast";
constexpr std::string_view kCodes = "moves codes";

bool makes_blocks_of_images(const Graph& graph, const Node& node) {
  const Tensor* w = graph.constant(node.input(1));
  if (w == nullptr || (w->rank() != 3 && w->rank() != 4)) return false;
  const auto window = parse_transposed(node, {w->shape().begin() + 2, w->shape().end()});
  return window.ok() && makes_blocks(*window);
}

bool is_native_recurrent(const Graph& graph, const Node& node) {
  return native::why_not_native(
             graph, node,
             [&](size_t input) { return graph.constant(node.input(input)) != nullptr; })
      .empty();
}

/// LSTM, GRU or RNN.
constexpr PlacementRule recurrent(std::string_view op) {
  return {.op = op,
          .treatment = Treatment::kProduct,
          .output = OutputCodes::kNever,
          .clause = "octet",
          .why = "sums of x run as QGemm, states in float",
          .takes = is_native_recurrent,
          .else_why = "its weights are computed, or its functions have no form of octet's"};
}

constexpr PlacementRule kOctetRules[] = {
    {"Conv", Treatment::kProduct, OutputCodes::kUnlessCostly, "octet", "runs as QConv"},
    {.op = "ConvTranspose",
     .treatment = Treatment::kProduct,
     .output = OutputCodes::kUnlessCostly,
     .clause = "octet",
     .why = "runs as QConv, its pixels moved to their places",
     .takes = makes_blocks_of_images,
     .else_why = "octet has no ConvTranspose on codes where windows overlap"},
    {"Gemm", Treatment::kProduct, OutputCodes::kWhenRead, "octet", "runs as QGemm"},
    {"MatMul", Treatment::kProduct, OutputCodes::kWhenRead, "octet", "runs as QGemm or QMatMul"},
    recurrent("LSTM"),
    recurrent("GRU"),
    recurrent("RNN"),
    {"AveragePool", Treatment::kAround, OutputCodes::kAlways, "octet", "runs as QAveragePool"},
    {"GlobalAveragePool", Treatment::kAround, OutputCodes::kAlways, "octet",
     "runs as QAveragePool"},
    {"Add", Treatment::kSummed, OutputCodes::kBehindClamp, "octet",
     "runs as QAdd, or in the QConv or QGemm before it"},
    {"LeakyRelu", Treatment::kAround, OutputCodes::kAlways, "octet", kTable},
    {"Sigmoid", Treatment::kAround, OutputCodes::kAlways, "octet", kTable},
    {"Tanh", Treatment::kAround, OutputCodes::kAlways, "octet", kTable},
    {"Gelu", Treatment::kAround, OutputCodes::kAlways, "octet", kTable},
    {"HardSwish", Treatment::kAround, OutputCodes::kAlways, "octet", kTable},
    {"Softmax", Treatment::kAround, OutputCodes::kAlways, "octet",
     "float softmax between codes, with the fixed scale 1/255", true},
    {"Relu", Treatment::kAbsorbed, OutputCodes::kAlways, "octet",
     "the Q after it has its lowest code at 0 and clamps by itself"},
    {"Clip", Treatment::kAbsorbed, OutputCodes::kAlways, "octet",
     "the Q after it clamps by itself"},
    {"MaxPool", Treatment::kMoves, OutputCodes::kAlways, "octet", kCodes},
    {"Reshape", Treatment::kMoves, OutputCodes::kAlways, "octet", kCodes},
    {"Flatten", Treatment::kMoves, OutputCodes::kAlways, "octet", kCodes},
    {"Transpose", Treatment::kMoves, OutputCodes::kAlways, "octet", kCodes},
    {"Squeeze", Treatment::kMoves, OutputCodes::kAlways, "octet", kCodes},
    {"Unsqueeze", Treatment::kMoves, OutputCodes::kAlways, "octet", kCodes},
};

/// Products of such codes run in float, behind Q and DQ.
constexpr StoredFormat kOctetFormats[] = {
    {{DType::kFloat8E4M3FN}, true, true},
    {{DType::kFloat8E4M3FNUZ}, true, true},
    {{DType::kFloat8E5M2}, true, true},
    {{DType::kFloat8E5M2FNUZ}, true, true},
    {{DType::kInt16}, false, true},
    {{DType::kUint16}, false, true},
    {{DType::kInt8}, true, false},
    {{DType::kUint8}, true, false},
    {{DType::kInt4}, true, true},
    {{DType::kUint4}, true, true},
    {{DType::kInt2}, true, true},
    {{DType::kUint2}, true, true},
    {{DType::kFloat8E4M3FN, DType::kFloat8E8M0, 32}, false, false},
    {{DType::kFloat4E2M1, DType::kFloat8E8M0, 32}, false, false},
    {{DType::kFloat4E2M1, DType::kFloat8E4M3FN, 16}, false, false},
};

constexpr Placement kOctetPlacement = {
    .target = "octet",
    .activation = {DType::kInt8, false, false},
    .symmetric_only = false,
    .weight = {DType::kInt8, true, true},
    .stored_weights = true,
    .int32_gemm_bias = false,
    .asymmetric_after_clamp = true,
    .gathers_codes = true,
    .dynamic = DynamicForm::kOctet,
    .min_opset = 13,
    .max_opset = 28,
    .rounds_biases = true,
    .rules = kOctetRules,
    .formats = kOctetFormats,
    .scales_of_matrices = false,
    .few_terms = 8,
    .otherwise_clause = "octet",
    .otherwise = "octet's runtime has no integer form for it",
};

constexpr TargetDef kOctetTargets[] = {{"octet", TargetFamily::kOctet, 0, &kOctetPlacement}};

} // namespace

std::span<const TargetDef> octet_targets() {
  return kOctetTargets;
}

} // namespace octet
