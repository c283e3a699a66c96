// SPDX-License-Identifier: Apache-2.0
// The table: operator -> candidates, best first.
#include <array>

#include "graph/domains.h"
#include "ops/op.h"
#include "runtime/step.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr KernelRow kTable[] = {
    {kNative, "QConv", prepare_qconv},
    {kNative, "QGemm", prepare_qgemm},
    {kNative, "QDynamicGemm", prepare_qdynamic_gemm},
    {kNative, "QMatMul", prepare_qmatmul},
    {kNative, "QTable", prepare_table},
    {kNative, "QAdd", prepare_add_codes},
    {kNative, "QAveragePool", prepare_qaverage_pool},
    {kNative, "Quantize", prepare_quantize},
    {kNative, "Dequantize", prepare_dequantize},
    {kNative, "Conv", prepare_conv},
    {kNative, "Gemm", prepare_gemm},
    {kNative, "MatMul", prepare_matmul},
    {kNative, "MaxPool", prepare_max_pool},
    {kNative, "AveragePool", prepare_average_pool},
    {kNative, "Softmax", prepare_softmax},
    {kNative, "LayerNormalization", prepare_layer_norm},
    {kNative, "GroupNormalization", prepare_group_norm},
    {kNative, "Exp", prepare_unary},
    {kNative, "Erf", prepare_unary},
    {kNative, "Tanh", prepare_unary},
    {kNative, "Sigmoid", prepare_unary},
    {kNative, "Gelu", prepare_unary},
    {kNative, "RoundHalf", prepare_unary},
    {kNative, "Resize", prepare_resize},
    {"", "Relu", prepare_unary},
    {"", "Add", prepare_binary},
    {"", "Add", prepare_integer_binary},
    {"", "Sub", prepare_binary},
    {"", "Sub", prepare_integer_binary},
    {"", "Mul", prepare_binary},
    {"", "Mul", prepare_integer_binary},
    {"", "Div", prepare_binary},
    {"", "Div", prepare_integer_binary},
    {"", "Sqrt", prepare_unary},
    {"", "Reciprocal", prepare_unary},
    {"", "Neg", prepare_unary},
    {"", "Neg", prepare_integer_unary},
    {"", "Abs", prepare_unary},
    {"", "Abs", prepare_integer_unary},
    {"", "Pow", prepare_pow},
    {"", "Clip", prepare_clip},
    {"", "Min", prepare_binary},
    {"", "Min", prepare_integer_binary},
    {"", "Max", prepare_binary},
    {"", "Max", prepare_integer_binary},
    {"", "And", prepare_logic},
    {"", "Or", prepare_logic},
    {"", "Xor", prepare_logic},
    {"", "Not", prepare_not},
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
    {"", "Cast", prepare_cast},
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
};

constexpr std::array<std::string_view, 5> kViews = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                    "Identity"};

} // namespace

std::span<const KernelRow> kernel_table() {
  return kTable;
}

bool is_view(const Node& node) {
  if (!node.domain.empty()) return false;
  for (const std::string_view view : kViews)
    if (node.op_type == view) return true;
  return false;
}

Choice choose(const PrepareContext& context) {
  std::string reasons;
  for (const KernelRow& row : kTable) {
    if (row.domain != context.node.domain || row.op != context.node.op_type) continue;
    Choice choice = row.prepare(context);
    if (choice.prepared) return choice;
    reasons += (reasons.empty() ? "" : "; ") + choice.reason;
  }
  if (!find_op(context.node.domain, context.node.op_type))
    return Choice::refuse("octet cannot run this operator");
  if (reasons.empty()) reasons = "the operator has no kernel";
  return {prepare_reference(context), "reference", reasons};
}

} // namespace octet::runtime
