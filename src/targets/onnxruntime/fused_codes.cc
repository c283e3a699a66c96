// SPDX-License-Identifier: Apache-2.0
// Codes that ONNX Runtime's rewriting of Q/DQ takes for 8 bits: it fuses a layer with them, or moves
// Q or DQ past it, and then has no kernel of the operator that it made. Source: docs/targets.md 8
// (measured).
#include "core/format.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/kernels.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

bool has_few_bits(DType type) {
  return onnxruntime_takes_for_bytes(type) || type == DType::kInt4 || type == DType::kUint4;
}

/// Whether an operator that only moves or compares elements has a kernel for these.
bool has_kernel(const Graph& graph, std::string_view op_type, DType type) {
  const auto* kernels = onnxruntime_cpu_kernels().find(op_type, graph.opset());
  return kernels == nullptr || kernels->unknown || kernels->inputs.takes(0, type);
}

class CodesAround {
 public:
  CodesAround(const Graph& graph, const Uses& uses, const TargetDef& target, const Node& node)
      : graph_(graph), uses_(uses), target_(target), node_(node) {}

  std::optional<MisreadCodes> misread() {
    // Files are full of layers that this does not concern: the fusion is replayed for few.
    MisreadCodes out = codes_before();
    const Node* quantize = onnxruntime_quantize_behind(graph_, uses_, node_);
    const DType before = out.dequantize != nullptr ? type_of(*out.dequantize) : DType::kUndefined;
    const DType behind = quantize != nullptr ? type_of(*quantize) : DType::kUndefined;
    if (auto reshaped = around_gemm()) return reshaped;
    if (!any_before_ && !has_few_bits(behind)) return std::nullopt;
    const OnnxRuntimeForm form = onnxruntime_form(graph_, target_, node_);
    if (is_fused_with_codes(form)) {
      out.said = fmt::format("it has no {} of {}", operator_of(form, node_), name(few_));
      return out.dequantize != nullptr ? std::optional(out) : std::nullopt;
    }
    if (!onnxruntime_runs_on_codes(graph_, target_, node_)) return std::nullopt;
    const DType moved = has_few_bits(before) ? before : behind;
    if (!has_few_bits(moved) || has_kernel(graph_, node_.op_type, moved)) return std::nullopt;
    if (!has_few_bits(before)) {
      out.dequantize = nullptr;
      out.quantize = quantize;
    }
    out.said = fmt::format("it has no {} of {}", node_.op_type, name(moved));
    return out;
  }

 private:
  /// The Reshapes around a Gemm that was a MatMul, past which the DQ before it and the Q behind it
  /// move.
  std::optional<MisreadCodes> around_gemm() const {
    if (!onnxruntime_reshapes_gemm(graph_, uses_, node_)) return std::nullopt;
    const Node* add = onnxruntime_gemm_bias(graph_, uses_, node_);
    const Node* quantize = onnxruntime_quantize_behind(graph_, uses_, *add);
    const DType behind = quantize != nullptr ? type_of(*quantize) : DType::kUndefined;
    if (onnxruntime_takes_for_bytes(behind) && !has_kernel(graph_, "Reshape", behind))
      return MisreadCodes{.quantize = quantize,
                          .said = fmt::format("it has no Reshape of {}", name(behind))};
    const Node* dq = onnxruntime_dequantize_before(graph_, uses_, node_.input(0));
    if (dq == nullptr) return std::nullopt;
    const DType type = type_of(*dq);
    if (!onnxruntime_takes_for_bytes(type) || has_kernel(graph_, "Reshape", type))
      return std::nullopt;
    return MisreadCodes{.dequantize = dq,
                        .said = fmt::format("it has no Reshape of {}", name(type))};
  }

  DType type_of(const Node& qdq) const { return graph_.value(codes_of_qdq(qdq)).type.type; }

  /// The DQ to part from the layer: of a product that of a stored weight, without which no other
  /// fusion takes the product; else that of an activation.
  MisreadCodes codes_before() {
    MisreadCodes out;
    const bool product = node_.is("MatMul") || node_.is("Gemm") || node_.is("Conv");
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const ValueId in = node_.input(i);
      const Node* dq = in.valid() ? onnxruntime_dequantize_before(graph_, uses_, in) : nullptr;
      if (dq == nullptr) continue;
      if (has_few_bits(type_of(*dq))) {
        any_before_ = true;
        few_ = type_of(*dq);
      }
      const bool weight = product && i == 1 && graph_.constant(dq->input(0)) != nullptr;
      if (out.dequantize != nullptr && !weight) continue;
      out.dequantize = dq;
      out.input = i;
    }
    return out;
  }

  const Graph& graph_;
  const Uses& uses_;
  const TargetDef& target_;
  const Node& node_;
  bool any_before_ = false;
  DType few_ = DType::kUndefined; ///< the codes before it that are no bytes
};

} // namespace

std::optional<MisreadCodes> onnxruntime_misread_codes(const Graph& graph,
                                                      const Uses& uses,
                                                      const TargetDef& target,
                                                      const Node& node) {
  if (is_cuda(target) || !node.domain.empty() || is_qdq(node) || node.outputs.empty())
    return std::nullopt;
  return CodesAround(graph, uses, target, node).misread();
}

namespace onnxruntime {

namespace {

void find_fused_codes(const CheckContext& context, const Node& node, Found& found) {
  const auto codes = onnxruntime_misread_codes(context.graph, context.uses, context.target, node);
  if (!codes) return;
  found.add(node,
            "ONNX Runtime 1.31 takes the codes beside it for 8 bits and fails to load the file: " +
                codes->said,
            "use codes of 8 or 16 bits, or part Q/DQ from it by a Max of one input: octet repair "
            "does");
}

} // namespace

constexpr TargetRule kFusedCodes = {.id = "fused-codes",
                                    .clause = "8",
                                    .provider = Provider::kCpu,
                                    .measured = 131,
                                    .find = find_fused_codes,
                                    .mends = {Mend::kHideCodes}};

} // namespace onnxruntime

} // namespace octet
