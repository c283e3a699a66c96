// SPDX-License-Identifier: Apache-2.0
// Layers that ONNX Runtime fuses with their Q and DQ without a look at how many scales these
// have, or at 32-bit codes: the file loads without optimizations, and fails with them, when it is
// loaded or run. Source: docs/targets.md 8 (measured).
#include <algorithm>
#include <vector>

#include "core/format.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

/// Blocks count as several where there is one.
bool has_several(const Graph& graph, const Node& node) {
  const qdq::Written said = qdq::written(graph, node);
  return static_count(graph, said.scale).value_or(1) > 1 || said.block != 0;
}

bool takes_wide_codes(const Graph& graph, const Node& dequantize) {
  return graph.value(dequantize.input(0)).type.type == DType::kInt32 &&
         graph.constant(dequantize.input(0)) == nullptr;
}

/// Scales that the kernel takes: of Conv one for each filter, of MatMul one for each column of a
/// matrix, also as one block of all its rows.
bool is_weight_with_columns(const Graph& graph, const Node& node, const Node& dequantize) {
  const TypeInfo& type = graph.value(node.input(1)).type;
  if (!type.has_rank() || (node.is("MatMul") && type.rank() != 2)) return false;
  const Tensor* scales = qdq::written(graph, dequantize).scales;
  if (node.is("MatMul") && scales != nullptr && scales->rank() == 2)
    return scales->dim(0) == 1 && graph.producer(node.input(1)) == &dequantize;
  return has_scales_along(graph, node.input(1), onnxruntime_channel_axis(node));
}

/// QLinearConcat builds no table for an input whose scale is that of its output.
bool is_copied(const Graph& graph, const Node& dequantize, const Node& quantize) {
  const qdq::Written in = qdq::written(graph, dequantize), out = qdq::written(graph, quantize);
  for (const auto& [a, b] : {std::pair(in.scales, out.scales), std::pair(in.zeros, out.zeros)}) {
    if (a == nullptr || b == nullptr) return false;
    for (const Tensor* t : {a, b})
      for (int64_t k = 0; k < t->count(); ++k)
        if (t->at(k) != a->at(0)) return false;
  }
  return true;
}

class FusedLayer {
 public:
  FusedLayer(const Graph& graph, const Uses& uses, const TargetDef& target, const Node& node)
      : graph_(graph), uses_(uses), target_(target), node_(node) {
    for (const ValueId in : node.inputs)
      inputs_.push_back(in.valid() ? onnxruntime_dequantize_before(graph, uses, in) : nullptr);
  }

  std::optional<std::string> fault() const {
    const bool wide = std::any_of(inputs_.begin(), inputs_.end(), [&](const Node* dq) {
      return dq != nullptr && takes_wide_codes(graph_, *dq);
    });
    if (wide) return of_wide_codes();
    if (node_.is("Split") && is_miscounted()) return "its outputs are taken in the order of the Q";
    // Files are full of layers that this does not concern: the fusion is replayed for few.
    const Node* behind = onnxruntime_quantize_behind(graph_, uses_, node_);
    bool several = behind != nullptr && has_several(graph_, *behind);
    for (size_t i = 0; i < inputs_.size(); ++i)
      several = several || reads_several(i);
    if (!several) return std::nullopt;
    const OnnxRuntimeForm form = onnxruntime_form(graph_, target_, node_);
    if (form == OnnxRuntimeForm::kQGemm) return of_gemm();
    if (form != OnnxRuntimeForm::kMatMulIntegerToFloat && form != OnnxRuntimeForm::kQLinear)
      return std::nullopt;
    const Node* quantize = OnnxRuntimeCodes(graph_).output_of(node_).quantize;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool copied = node_.is("Concat") && quantize != nullptr && inputs_[i] != nullptr &&
                          is_copied(graph_, *inputs_[i], *quantize);
      if (reads_several(i) && !copied) return said(form, is_weight(i));
    }
    const bool ignores_output = node_.is("Softmax") || node_.is("Concat");
    if (quantize != nullptr && has_several(graph_, *quantize) && !ignores_output)
      return said(form, false);
    return std::nullopt;
  }

 private:
  bool is_weight(size_t input) const {
    return input == 1 && (node_.is("Conv") || node_.is("MatMul"));
  }

  /// A Split with as many Q behind it as outputs, of which one has none and another several.
  bool is_miscounted() const {
    std::vector<Uses::Use> readers;
    bool unread = false;
    for (const ValueId out : node_.outputs) {
      if (out.valid() && graph_.is_output(out)) return false;
      const auto of_one = uses_.of(out);
      unread = unread || of_one.empty();
      readers.insert(readers.end(), of_one.begin(), of_one.end());
    }
    if (!unread || readers.size() != node_.outputs.size() || inputs_[0] == nullptr) return false;
    const OnnxRuntimeCodes codes(graph_);
    return std::all_of(readers.begin(), readers.end(), [&](const Uses::Use& use) {
      const Node& reader = graph_.node(use.node);
      return is_quantize(reader) && codes.have_one_scale(*inputs_[0], reader);
    });
  }

  /// Several scales where the kernel takes one.
  bool reads_several(size_t input) const {
    const Node* dq = inputs_[input];
    if (dq == nullptr || !has_several(graph_, *dq)) return false;
    const bool bias = input == 2 && node_.is("Conv");
    return !bias && !(is_weight(input) && is_weight_with_columns(graph_, node_, *dq));
  }

  /// It becomes integer with as many scales as the weight has columns, along whatever axis.
  std::optional<std::string> of_gemm() const {
    if (inputs_[1] == nullptr || !has_several(graph_, *inputs_[1]) ||
        has_scales_along(graph_, node_.input(1), onnxruntime_channel_axis(node_)))
      return std::nullopt;
    return "QGemm takes the scales of the weight's rows for those of its columns";
  }

  /// Q and DQ of its own making get the zero point of 32 bits.
  std::optional<std::string> of_wide_codes() const {
    const bool gemm = onnxruntime_reshapes_gemm(graph_, uses_, node_) && inputs_[0] != nullptr &&
                      takes_wide_codes(graph_, *inputs_[0]);
    const bool moves = gemm || onnxruntime_moves_codes_past(node_);
    if (!moves && !node_.is("MatMul")) return std::nullopt;
    const OnnxRuntimeCodes codes(graph_);
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (moves && i == 1) break;
      const auto in = codes.of_input(node_.input(i));
      if (!in.present || (moves && has_several(graph_, *in.dequantize))) return std::nullopt;
    }
    if (!gemm && codes.output_of(node_).quantize != nullptr) return std::nullopt;
    return fmt::format("\"Type 'tensor(int32)' of input parameter [...] of operator ({}) in node "
                       "[...] is invalid.\"",
                       moves ? "QuantizeLinear" : "MatMulIntegerToFloat");
  }

  std::string said(OnnxRuntimeForm form, bool weight) const {
    if (node_.is("Add") || node_.is("Mul") || node_.is("AveragePool"))
      return "\"[TypeInferenceError] Scale and Zero-point must be a scalar\"";
    if (node_.is("Conv") && weight) return "\"QLinearConv : filter scale shape invalid\"";
    if (weight)
      return operator_of(form, node_) +
             ": \"weight zero point must be a scalar, 1D tensor of size 1, or last to second "
             "dimension is 1\"";
    return operator_of(form, node_) + ": \"zero point must be a scalar or 1D tensor of size 1\"";
  }

  const Graph& graph_;
  const Uses& uses_;
  const TargetDef& target_;
  const Node& node_;
  std::vector<const Node*> inputs_; ///< the DQ before each
};

} // namespace

std::optional<std::string> onnxruntime_fused_fault(const Graph& graph,
                                                   const Uses& uses,
                                                   const TargetDef& target,
                                                   const Node& node) {
  if (is_cuda(target) || !node.domain.empty() || is_qdq(node) || node.outputs.empty())
    return std::nullopt;
  return FusedLayer(graph, uses, target, node).fault();
}

namespace onnxruntime {

namespace {

void find_fused_parameters(const CheckContext& context, const Node& node, Found& found) {
  const auto fault = onnxruntime_fused_fault(context.graph, context.uses, context.target, node);
  if (!fault) return;
  found.add(node,
            "ONNX Runtime 1.31 fuses it with its Q/DQ, whose kernel takes no such scales or "
            "codes: " +
                *fault,
            "give activations one scale and 8-bit codes, weights a scale for each column "
            "(MatMul, axis 1) or filter (Conv, axis 0); octet repair takes the layer to float");
}

} // namespace

constexpr TargetRule kFusedParameters = {
    .id = "fused-parameters",
    .clause = "8",
    .provider = Provider::kCpu,
    .measured = 131,
    .find = find_fused_parameters,
    .mends = {Mend::kHideCodes, Mend::kFloatProduct, Mend::kFloatInput}};

} // namespace onnxruntime

} // namespace octet
