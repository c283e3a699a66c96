// SPDX-License-Identifier: Apache-2.0
// Source: the operators' change logs of ONNX, opsets 13 to 23.
#include "passes/raise_opset.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/format.h"

namespace octet {
namespace {

/// Operators that mean the same in opsets 13 to 23 with the attributes and inputs of 13.
constexpr std::string_view kSame =
    " Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BitShift "
    "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu CenterCropPad Clip "
    "Col2Im Compress Concat Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
    "CumSum DeformConv DepthToSpace DequantizeLinear Det Div DynamicQuantizeLinear Einsum Elu "
    "Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm "
    "GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual HardSigmoid HardSwish "
    "Hardmax Identity InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu "
    "Less LessOrEqual Log LogSoftmax LpNormalization MatMul MatMulInteger Max MaxPool MaxUnpool "
    "Mean MeanVarianceNormalization Min Mish Mod Mul Neg NonMaxSuppression NonZero Not OneHot Or "
    "PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN Range "
    "Reciprocal ReduceSum Relu Reshape Resize ReverseSequence RotaryEmbedding Round "
    "ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax "
    "Softplus Softsign SpaceToDepth Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK "
    "Transpose Trilu Unique Unsqueeze Where Xor ";
/// Their axes are an input from opset 18 on.
constexpr std::array<std::string_view, 9> kReductions = {
    "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",     "ReduceL1",
    "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};

bool keeps_meaning(const Graph& graph, const Node& node, int64_t version) {
  if (!node.domain.empty()) return true;
  if (node.is("AveragePool") && node.attr_int("ceil_mode", 0) != 0) return version < 19;
  if (kSame.find(" " + node.op_type + " ") != std::string_view::npos) return true;
  // Only the outputs for training changed (opset 14), and nobody sets those in inference.
  if (node.op_type == "BatchNormalization") return graph.opset() >= 14 || node.outputs.size() == 1;
  return version == graph.opset() || node.op_type == "Dropout" || is_reduction(node) ||
         node.op_type == "Split";
}

void axes_to_input(Graph& graph, Node& node) {
  const std::vector<int64_t> axes = node.attr_ints("axes");
  node.attributes.erase("axes");
  if (axes.empty()) return;
  const Shape shape = {static_cast<int64_t>(axes.size())};
  const Tensor tensor = Tensor::of<int64_t>(shape, std::span<const int64_t>(axes));
  // The node lies in the graph, whose values move when one is added.
  const NodeId id = node.id;
  const ValueId constant = graph.add_constant(node.name + "/axes", tensor);
  graph.set_node_input(id, 1, constant);
}

} // namespace

bool is_reduction(const Node& node) {
  return node.domain.empty() &&
         std::find(kReductions.begin(), kReductions.end(), node.op_type) != kReductions.end();
}

Status raise_opset(Graph& graph, int64_t version) {
  const int64_t from = graph.opset();
  if (from < kOldestOpset || version > kNewestOpset || version < from)
    return error(ErrorCode::kUnsupported,
                 "opset {} cannot be written as {}; both lie between {} and {} and do not fall",
                 from, version, kOldestOpset, kNewestOpset);
  for (const NodeId id : graph.nodes())
    if (!keeps_meaning(graph, graph.node(id), version))
      return error(ErrorCode::kUnsupported,
                   "node {}: the operator is not known to mean the same in opsets {} and {}; keep "
                   "opset {}",
                   graph.node(id).label(), from, version, from);
  if (from < 18 && version >= 18)
    for (const NodeId id : graph.nodes()) {
      Node& node = graph.mutable_node(id);
      if (is_reduction(node)) axes_to_input(graph, node);
      if (node.is("Split") && !node.input(1).valid())
        node.set("num_outputs", static_cast<int64_t>(node.outputs.size()));
    }
  graph.opsets[""] = version;
  return ok_status();
}

} // namespace octet
