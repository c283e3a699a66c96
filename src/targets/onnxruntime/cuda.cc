// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's CUDA provider. It does not fuse Q/DQ: a layer between them runs in float, Q and DQ
// as operators of their own (docs/targets.md 4.2), unless it has a QOrdered operator (4.4) and octet
// export --form qordered or onnxruntime.transformers' optimizer has written that. Explained is what
// they write. Kernels: docs/OperatorKernels.md of microsoft/onnxruntime, CUDAExecutionProvider.
#include <algorithm>
#include <map>

#include "core/format.h"
#include "ops/microsoft/matrix_order.h"
#include "targets/checks.h"
#include "targets/onnxruntime/ordered.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

/// Of ai.onnx; Constant never reaches a provider.
constexpr std::string_view kCudaKernels =
    " Abs Add Affine And ArgMax ArgMin Attention AveragePool BatchNormalization Cast Ceil Clip "
    "Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvTranspose Cos Crop "
    "CumSum DepthToSpace DequantizeLinear Div Dropout DynamicSlice Einsum Elu Equal Erf Exp "
    "Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm "
    "GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GridSample HardSigmoid HardSwish "
    "Identity If ImageScaler InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization "
    "LeakyRelu Less LessOrEqual Log LogSoftmax Loop MatMul MatMulInteger Max MaxPool Min Mod "
    "Mul Neg NonZero Not OneHot Or PRelu Pad ParametricSoftplus Pow QuantizeLinear "
    "RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range "
    "Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign "
    "RotaryEmbedding Round ScaledTanh Scan Scatter ScatterElements ScatterND Selu SequenceAt "
    "SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Shrink "
    "Sigmoid Sign SimplifiedLayerNormalization Sin Size Slice Softmax Softplus Softsign "
    "SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh TensorScatter ThresholdedRelu Tile TopK "
    "Transpose Trilu Unsqueeze Upsample Where Xor ";
/// Of com.microsoft.
constexpr std::string_view kMicrosoftCudaKernels =
    " Attention BiasAdd BiasDropout BiasGelu BiasSoftmax BiasSplitGelu ComplexMul DecoderAttention "
    "DequantizeLinear DequantizeWithOrder EmbedLayerNormalization FastGelu FusedConv FusedMatMul "
    "GatherBlockQuantized Gelu GemmFloat8 GridSample GroupNorm GroupQueryAttention Inverse Irfft "
    "LongformerAttention MatMulBnb4 MatMulNBits MoE MultiHeadAttention NhwcConv PackedAttention "
    "PackedMultiHeadAttention PagedAttention QAttention QMoE QOrderedAttention QOrderedGelu "
    "QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul QuantizeLinear "
    "QuantizeWithOrder QuickGelu RelativePositionBias RemovePadding RestorePadding Rfft "
    "RotaryEmbedding SkipGroupNorm SkipLayerNormalization SkipSimplifiedLayerNormalization "
    "SparseAttention TransposeMatMul Trilu ";

bool computes_in_int8(const Node& node) {
  const bool moves =
      node.is("QuantizeWithOrder", kMicrosoft) || node.is("DequantizeWithOrder", kMicrosoft);
  return node.is("MatMulInteger") || node.is("QAttention", kMicrosoft) ||
         (ms::is_ordered(node) && !moves);
}

bool reads_dequantized(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    const Node* producer = id.valid() ? graph.producer(id) : nullptr;
    return producer != nullptr && is_dequantize(*producer);
  });
}

/// What the nodes of a Q/DQ graph become.
class OrderedForms {
 public:
  explicit OrderedForms(const Graph& graph) : uses_(graph), layers_(graph, uses_, Between::kCodes) {
    for (const NodeId id : graph.nodes())
      add(graph.node(id));
  }

  /// Fills in a layer; false: the node is none of theirs.
  bool explain(const Graph& graph, const Node& node, LayerForm& layer) const {
    const auto found = forms_.find(node.id);
    if (found == forms_.end()) return false;
    const auto& [form, first] = found->second;
    layer.source = "targets 4.4";
    // Products are counted by themselves, whatever they are computed with.
    layer.precision =
        first == node.id || node.is("MatMul") ? LayerPrecision::kInt8 : LayerPrecision::kFused;
    if (first != node.id) {
      layer.fusion = fmt::format("{} \"{}\"", form, name_of(graph, graph.node(first)));
      return true;
    }
    layer.form = form;
    layer.why = "with octet export --form qordered";
    return true;
  }

  std::string why_not(const Node& node) const { return layers_.why_not(node); }

 private:
  void add(const Node& node) {
    if (node.is("Softmax")) {
      if (const auto found = layers_.attention(node)) {
        take("QOrderedAttention", found->nodes(), node.id);
        take("QOrderedMatMul", found->projection.nodes(), found->projection.product->id);
      }
    } else if (node.is("MatMul")) {
      if (const auto found = layers_.product(node); found && !forms_.contains(node.id))
        take("QOrderedMatMul", found->nodes(), node.id);
    } else if (node.is("Erf") || node.op_type == "Gelu") {
      if (const auto found = layers_.gelu(node))
        take("QOrderedGelu", found->nodes, found->nodes.front()->id);
    } else if (node.is("LayerNormalization")) {
      if (layers_.norm(node)) take("QOrderedLayerNormalization", {&node}, node.id);
    }
  }

  void take(const char* form, const std::vector<const Node*>& nodes, NodeId first) {
    for (const Node* node : nodes)
      forms_[node->id] = {form, first};
  }

  const Uses uses_;
  const OrderedLayers layers_;
  /// The operator, and the node that it is named after.
  std::map<NodeId, std::pair<std::string, NodeId>> forms_;
};

} // namespace

bool has_cuda_kernel(const Node& node) {
  const std::string_view list = node.domain.empty()         ? kCudaKernels
                                : node.domain == kMicrosoft ? kMicrosoftCudaKernels
                                                            : std::string_view();
  return list.find(" " + node.op_type + " ") != std::string_view::npos;
}

bool needs_cuda(const Node& node) {
  return ms::is_ordered(node);
}

Result<std::vector<LayerForm>> explain_onnxruntime_cuda(const Graph& graph) {
  std::vector<LayerForm> out;
  const OrderedForms ordered(graph);
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    const Node& node = graph.node(id);
    if (is_qdq(node) || node.is("Constant")) continue;
    LayerForm layer;
    layer.id = id;
    layer.node = name_of(graph, node);
    layer.op = node.op_type;
    layer.form = node.op_type;
    layer.precision = computes_in_int8(node) ? LayerPrecision::kInt8 : LayerPrecision::kFloat;
    layer.source = "targets 4.2";
    if (ordered.explain(graph, node, layer)) {
      // all is said
    } else if (!has_cuda_kernel(node)) {
      layer.form += " on the CPU";
      layer.why = "the CUDA provider has no kernel for it: it runs on the CPU, between two copies";
      layer.mend = "write it with operators that have one";
    } else if (reads_dequantized(graph, node)) {
      const std::string why_not = ordered.why_not(node);
      layer.why = fmt::format("Q/DQ run by themselves, the layer in float: {}",
                              why_not.empty() ? "it has no QOrdered operator" : why_not);
      layer.mend = "quantize the float model for onnxruntime-cuda, or use the TensorRT provider: "
                   "--target tensorrt-10";
    }
    out.push_back(std::move(layer));
  }
  return out;
}

} // namespace octet
