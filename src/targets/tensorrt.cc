// SPDX-License-Identifier: Apache-2.0
// TensorRT: symmetric int8, Q/DQ on the inputs of products only, everything else left to its own
// fusions. Source: docs/targets.md sections 1, 2, 4 of NvInfer.h's rules, and 7 (measured).
#include <array>

#include "targets/tables.h"

namespace octet {

namespace {

constexpr std::string_view kMoves = "TensorRT moves Q and DQ through it by itself";
constexpr std::string_view kFuses = "TensorRT fuses it into the product before it";

constexpr PlacementRule kRules[] = {
    {"Conv", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"ConvTranspose", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"Gemm", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"MatMul", Treatment::kProduct, OutputCodes::kNever, "2.1 rules 1, 2",
     "all inputs of a weighted operator are quantized, its output is left to the reader's Q"},
    {"Add", Treatment::kResidual, OutputCodes::kNever, "2.1 rule 4",
     "the shortcut of a residual sum is quantized, the other side is the product's own output"},
    {"AveragePool", Treatment::kAround, OutputCodes::kNever, "2.1 rule 5",
     "quantized on both sides: its input here, its output by the reader's Q, which moves back"},
    {"GlobalAveragePool", Treatment::kAround, OutputCodes::kNever, "2.1 rule 5",
     "quantized on both sides: its input here, its output by the reader's Q, which moves back"},
    {"Softmax", Treatment::kAround, OutputCodes::kNever, "2.4",
     "quantized with the fixed scale 1/127"},
    {"Relu", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 3", kFuses},
    {"Clip", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 3", kFuses},
    {"BatchNormalization", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 3", kFuses},
    {"MaxPool", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Transpose", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Reshape", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Flatten", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Squeeze", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Unsqueeze", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Slice", Treatment::kCommutes, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Gather", Treatment::kFloat, OutputCodes::kNever, "2.1 rule 8", kMoves},
    {"Concat", Treatment::kFloat, OutputCodes::kNever, "2.1 rule 9",
     "one Q behind it serves all its inputs; TensorRT moves it back where scales agree"},
    {"LayerNormalization", Treatment::kFloat, OutputCodes::kNever, "2.3",
     "NVIDIA's quantizer leaves it in float: Q/DQ there breaks its fusion"},
    {"Gelu", Treatment::kFloat, OutputCodes::kNever, "2.1 rule 2",
     "stays in float between a product and the next Q"},
};

constexpr Placement placement(std::string_view name, bool stored_weights, int64_t max_opset) {
  return {.target = name,
          .activation = {DType::kInt8, true, false},
          .symmetric_only = true,
          .weight = {DType::kInt8, true, true},
          .stored_weights = stored_weights,
          .int32_gemm_bias = false,
          .asymmetric_after_clamp = false,
          .gathers_codes = false,
          .dynamic = DynamicForm::kNone,
          .min_opset = 13,
          .max_opset = max_opset,
          .rules = kRules,
          .otherwise_clause = "2.1",
          .otherwise = "TensorRT's guide names no int8 form for it"};
}

// Bounds of operator sets: section 1.2; those above 10.1 were not documented where they were read.
constexpr Placement k8 = placement("tensorrt-8.6", false, 17);
constexpr Placement k10 = placement("tensorrt-10", true, 20);
constexpr Placement k101 = placement("tensorrt-10.1", true, 20);
constexpr Placement k1010 = placement("tensorrt-10.10", true, 23);
constexpr Placement k11 = placement("tensorrt-11", true, 23);

constexpr TargetDef kTargets[] = {
    {"tensorrt-8.6", TargetFamily::kTensorRt, 806, &k8},
    {"tensorrt-10", TargetFamily::kTensorRt, 1000, &k10},
    {"tensorrt-10.1", TargetFamily::kTensorRt, 1001, &k101},
    {"tensorrt-10.10", TargetFamily::kTensorRt, 1010, &k1010},
    {"tensorrt-11", TargetFamily::kTensorRt, 1100, &k11},
};

} // namespace

std::span<const TargetDef> tensorrt_targets() {
  return kTargets;
}

} // namespace octet
