// SPDX-License-Identifier: Apache-2.0
// The table: operator -> candidates, best first.
#include <algorithm>
#include <array>

#include "graph/bodies.h"
#include "graph/domains.h"
#include "ops/op.h"
#include "runtime/step.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr KernelRow kTable[] = {
    {kNative, "QConv", prepare_qconv},
    {kNative, "ConvInteger", prepare_conv_integer},
    {kNative, "QGemm", prepare_qgemm},
    {kNative, "QDynamicGemm", prepare_qdynamic_gemm},
    {kNative, "QScaledGemm", prepare_qscaled_gemm},
    {kNative, "QMatMul", prepare_qmatmul},
    {kNative, "QTable", prepare_table},
    {kNative, "QAdd", prepare_add_codes},
    {kNative, "QAveragePool", prepare_qaverage_pool},
    {kNative, "Quantize", prepare_quantize},
    {kNative, "Dequantize", prepare_dequantize},
    {kNative, "Conv", prepare_conv},
    {kNative, "ConvTranspose", prepare_conv_transpose},
    {kNative, "DepthToSpace", prepare_native_depth_to_space},
    {kNative, "Gemm", prepare_gemm},
    {kNative, "CodedGemm", prepare_coded_gemm},
    {kNative, "MatMul", prepare_matmul},
    {kNative, "MaxPool", prepare_max_pool},
    {kNative, "AveragePool", prepare_average_pool},
    {kNative, "Softmax", prepare_softmax},
    {kNative, "Attention", prepare_attention},
    {kNative, "QAttention", prepare_attention},
    {kNative, "Positions", prepare_positions},
    {kNative, "SegmentSum", prepare_segment_sum},
    {kNative, "LayerNormalization", prepare_layer_norm},
    {kNative, "GroupNormalization", prepare_group_norm},
    {kNative, "LSTM", prepare_recur},
    {kNative, "QLSTM", prepare_qlstm},
    {kNative, "GRU", prepare_recur},
    {kNative, "RNN", prepare_recur},
    {kNative, "Exp", prepare_map},
    {kNative, "Erf", prepare_map},
    {kNative, "Tanh", prepare_map},
    {kNative, "Sigmoid", prepare_map},
    {kNative, "Gelu", prepare_map},
    {kNative, "RoundHalf", prepare_map},
    {kNative, "FakeQuantize", prepare_map},
    {kNative, "Map", prepare_map},
    {kNative, "QMap", prepare_qmap},
    {kNative, "Resize", prepare_resize},
    {kNative, "QResize", prepare_resize},
    {"", "Relu", prepare_map},
    {"", "Add", prepare_map},
    {"", "Add", prepare_integer_binary},
    {"", "Sub", prepare_map},
    {"", "Sub", prepare_integer_binary},
    {"", "Mul", prepare_map},
    {"", "Mul", prepare_integer_binary},
    {"", "Div", prepare_map},
    {"", "Div", prepare_integer_binary},
    {"", "Sqrt", prepare_map},
    {"", "Reciprocal", prepare_map},
    {"", "Neg", prepare_map},
    {"", "Neg", prepare_integer_unary},
    {"", "Abs", prepare_map},
    {"", "Abs", prepare_integer_unary},
    {"", "Pow", prepare_map},
    {"", "Pow", prepare_pow},
    {"", "Clip", prepare_map},
    {"", "Min", prepare_map},
    {"", "Min", prepare_integer_binary},
    {"", "Max", prepare_map},
    {"", "Max", prepare_integer_binary},
    {"", "Sum", prepare_map},
    {"", "Sign", prepare_map},
    {"", "Floor", prepare_map},
    {"", "Ceil", prepare_map},
    {"", "Round", prepare_map},
    {"", "LeakyRelu", prepare_map},
    {"", "PRelu", prepare_map},
    {"", "ThresholdedRelu", prepare_map},
    {"", "Shrink", prepare_map},
    {"", "And", prepare_logic},
    {"", "Or", prepare_logic},
    {"", "Xor", prepare_logic},
    {"", "Not", prepare_not},
    {"", "IsNaN", prepare_classify},
    {"", "IsInf", prepare_classify},
    {"", "BitShift", prepare_integer_binary},
    {"", "BitwiseAnd", prepare_integer_binary},
    {"", "BitwiseOr", prepare_integer_binary},
    {"", "BitwiseXor", prepare_integer_binary},
    {"", "BitwiseNot", prepare_integer_unary},
    {"", "Where", prepare_where},
    {"", "Equal", prepare_compare},
    {"", "Less", prepare_compare},
    {"", "LessOrEqual", prepare_compare},
    {"", "Greater", prepare_compare},
    {"", "GreaterOrEqual", prepare_compare},
    {"", "ReduceSum", prepare_reduce},
    {"", "ReduceMean", prepare_reduce},
    {"", "ReduceMax", prepare_reduce},
    {"", "ReduceMin", prepare_reduce},
    {"", "ReduceProd", prepare_reduce},
    {"", "ReduceSumSquare", prepare_reduce},
    {"", "ReduceL1", prepare_reduce},
    {"", "ReduceL2", prepare_reduce},
    {"", "ReduceLogSum", prepare_reduce},
    {"", "ReduceLogSumExp", prepare_reduce},
    {"", "LSTM", prepare_recur},
    {"", "GRU", prepare_recur},
    {"", "RNN", prepare_recur},
    {"", "Cast", prepare_cast},
    {"", "QuantizeLinear", prepare_encode_fp8},
    {"", "DequantizeLinear", prepare_decode_fp8},
    {"", "DynamicQuantizeLinear", prepare_dynamic_quantize},
    {"", "MatMulInteger", prepare_matmul_integer},
    {"", "Gather", prepare_gather},
    {"", "Transpose", prepare_transpose},
    {"", "Range", prepare_range},
    {"", "Slice", prepare_slice},
    {"", "Expand", prepare_expand},
    {"", "Concat", prepare_concat},
    {"", "Split", prepare_split},
    {"", "Pad", prepare_pad},
    {"", "Tile", prepare_tile},
    {"", "DepthToSpace", prepare_depth_to_space},
    {"", "SpaceToDepth", prepare_space_to_depth},
    {"", "Mod", prepare_integer_binary},
    {"", "Mod", prepare_remainder},
    {"", "GatherElements", prepare_gather_elements},
    {"", "GatherND", prepare_gather_nd},
    {"", "ScatterElements", prepare_scatter_elements},
    {"", "Scatter", prepare_scatter_elements},
    {"", "ScatterND", prepare_scatter_nd},
    {"", "OneHot", prepare_one_hot},
    {"", "Trilu", prepare_trilu},
    {"", "ReverseSequence", prepare_reverse_sequence},
    {"", "CumSum", prepare_running},
    {"", "CumProd", prepare_running},
    {"", "ArgMax", prepare_arg_best},
    {"", "ArgMin", prepare_arg_best},
    {"", "TopK", prepare_top_k},
    {"", "NonZero", prepare_nonzero},
    {"", "MaxPool", prepare_max_pool_places},
    {"", "MaxUnpool", prepare_max_unpool},
    {"", "LpPool", prepare_lp_pool},
    {"", "RoiAlign", prepare_roi_align},
    {"", "GridSample", prepare_grid_sample},
    {"", "DFT", prepare_dft},
    {"", "STFT", prepare_stft},
    {kMl, "LinearClassifier", prepare_row_model, true},
    {kMl, "LinearRegressor", prepare_row_model, true},
    {kMl, "SVMClassifier", prepare_row_model, true},
    {kMl, "SVMRegressor", prepare_row_model, true},
    {kMl, "TreeEnsemble", prepare_row_model, true},
    {kMl, "TreeEnsembleClassifier", prepare_row_model, true},
    {kMl, "TreeEnsembleRegressor", prepare_row_model, true},
};

constexpr std::string_view kNoKernel = "the operator has no kernel";

constexpr std::array<std::string_view, 5> kViews = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                    "Identity"};

} // namespace

std::span<const KernelRow> kernel_table() {
  return kTable;
}

bool is_view(const Graph& graph, const Node& node) {
  const ValueId out = node.output(0);
  if (!node.domain.empty() || !out.valid() || graph.value(out).type.type == DType::kString)
    return false;
  for (const std::string_view view : kViews)
    if (node.op_type == view) return true;
  return false;
}

Choice choose_kernel(const PrepareContext& context) {
  const auto is_text = [&](ValueId v) {
    return v.valid() && context.graph.value(v).type.type == DType::kString;
  };
  const Node& node = context.node;
  const bool texts = std::any_of(node.inputs.begin(), node.inputs.end(), is_text) ||
                     std::any_of(node.outputs.begin(), node.outputs.end(), is_text);
  std::string reasons;
  for (const KernelRow& row : kTable) {
    if (row.domain != node.domain || row.op != node.op_type) continue;
    if (texts && !row.takes_strings) return Choice::refuse("no kernel takes strings");
    Choice choice = row.prepare(context);
    if (choice.prepared) return choice;
    reasons += (reasons.empty() ? "" : "; ") + choice.reason;
  }
  return Choice::refuse(reasons.empty() ? std::string(kNoKernel) : reasons);
}

Choice choose(const PrepareContext& context) {
  Choice choice = choose_kernel(context);
  if (choice.prepared) return choice;
  Choice reference = prepare_reference(context);
  if (!reference.prepared || has_bodies(context.node)) return reference;
  const std::vector<ValueId>& inputs = context.node.inputs;
  const bool is_open = std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) {
    return v.valid() && !context.graph.value(v).type.has_rank();
  });
  if (is_open && choice.reason != kNoKernel) reference.name = "chosen when ranks are known";
  reference.reason = choice.reason;
  return reference;
}

} // namespace octet::runtime
