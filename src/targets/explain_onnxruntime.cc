// SPDX-License-Identifier: Apache-2.0
// Which operator of ONNX Runtime (x64, CPU) will run each layer of a Q/DQ file: its fusion rules,
// replayed. Source: docs/targets.md 4.2 (selectors) and 8 (measured), which wins.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/format.h"
#include "targets/checks.h"
#include "targets/onnxruntime_versions.h"

namespace octet {

namespace {

constexpr std::string_view kInt8 = "int8";
constexpr std::string_view kFloat = "float";
constexpr const char* kOwnQ = "give each reader its own Q, or use uint8 with zero point 128";
constexpr const char* kLowestIsZero =
    "quantize behind the Relu with the lowest code at 0 (int8 zero point -128, or uint8 with 0)";

class OnnxRuntimeExplainer {
 public:
  OnnxRuntimeExplainer(const Graph& graph, const TargetDef& target)
      : graph_(graph), uses_(graph), float_bias_(target.version >= kFloatBiasSince) {}

  LayerForm layer(const Node& node) {
    LayerForm out;
    out.node = name_of(graph_, node);
    out.op = node.op_type;
    out.form = node.op_type;
    out.precision = kFloat;
    out.source = "targets 8";
    const auto fused = fused_.find(node.id);
    if (fused != fused_.end()) {
      out.form = fused->second;
      out.precision = "fused";
      out.why = "computed by its producer";
      return out;
    }
    if (node.is("Conv")) return conv(node, out);
    if (node.is("Gemm")) return gemm(node, out);
    if (node.is("MatMul")) return matmul(node, out);
    if (node.is("MaxPool") || node.is("Flatten") || node.is("Reshape") || node.is("Transpose") ||
        node.is("Squeeze") || node.is("Unsqueeze"))
      return movement(node, out);
    if (is_around(node)) return around(node, out);
    out.why = node.domain.empty() ? "the Q/DQ fusion has no integer form for it"
                                  : "not an operator that Q/DQ fusion looks at";
    out.source = "targets 4.2";
    return out;
  }

 private:
  struct Codes {
    bool present = false;
    bool uint8 = false; ///< or int8 that ONNX Runtime turns into uint8
  };

  const Node* only_reader(ValueId id) const {
    const NodeId next = uses_.single_consumer(id);
    return next.valid() ? &graph_.node(next) : nullptr;
  }

  /// What Q's codes are after int8 has been turned into uint8: that needs a constant zero point on
  /// both sides and a single reader.
  Codes codes_of(const Node& quantize) const {
    Codes out{true, false};
    const Tensor* zero = graph_.constant(quantize.input(2));
    if (zero == nullptr) {
      out.uint8 = !quantize.input(2).valid(); // none: uint8 with zero point 0
      return out;
    }
    if (zero->type() == DType::kUint8) out.uint8 = true;
    if (zero->type() != DType::kInt8 || zero->count() != 1) return out;
    const Node* reader = only_reader(quantize.output(0));
    out.uint8 = reader != nullptr && is_dequantize(*reader) && reader->input(2).valid() &&
                uses_.count(reader->output(0)) <= 1; // a shared DQ is copied for each reader
    return out;
  }

  /// The codes behind a DQ that reads `value`'s producer; a weight counts as present.
  Codes input_codes(ValueId value) const {
    const Node* dq = graph_.producer(value);
    if (dq == nullptr || !is_dequantize(*dq)) return {};
    const Node* q = graph_.producer(dq->input(0));
    if (q != nullptr && is_quantize(*q)) return codes_of(*q);
    Codes out{true, false};
    out.uint8 = graph_.value(dq->input(0)).type.type == DType::kUint8;
    return out;
  }

  bool is_stored(ValueId value) const {
    const Node* dq = graph_.producer(value);
    if (dq == nullptr || !is_dequantize(*dq)) return false;
    if (graph_.constant(dq->input(0)) != nullptr) return true;
    const Node* q = graph_.producer(dq->input(0));
    return q != nullptr && is_quantize(*q) && graph_.constant(q->input(0)) != nullptr;
  }

  /// Whether Q's range ends where the clamp does, so that Q does the clamp's work.
  bool absorbs(const Node& quantize, const Node& clamp) const {
    const Tensor* zero = graph_.constant(quantize.input(2));
    const Tensor* scale = graph_.constant(quantize.input(1));
    if (scale == nullptr || scale->count() != 1) return false;
    const bool is_signed = zero != nullptr && zero->type() == DType::kInt8;
    const double z = zero != nullptr ? zero->at(0) : 0;
    const double lowest = ((is_signed ? -128 : 0) - z) * scale->at(0);
    const double highest = ((is_signed ? 127 : 255) - z) * scale->at(0);
    if (clamp.is("Relu")) return lowest >= 0;
    const Tensor* low = graph_.constant(clamp.input(1));
    const Tensor* high = graph_.constant(clamp.input(2));
    const bool low_ok = !clamp.input(1).valid() || (low != nullptr && lowest >= low->at(0));
    const bool high_ok = !clamp.input(2).valid() || (high != nullptr && highest <= high->at(0));
    return low_ok && high_ok;
  }

  /// The Q that takes the output, past a clamp that it absorbs.
  struct Output {
    const Node* quantize = nullptr;
    const Node* clamp = nullptr;
  };
  Output output_of(const Node& node) const {
    Output out;
    const Node* next = only_reader(node.output(0));
    if (next == nullptr) return out;
    if (is_quantize(*next)) {
      out.quantize = next;
    } else if (next->is("Relu") || next->is("Clip")) {
      const Node* after = only_reader(next->output(0));
      if (after != nullptr && is_quantize(*after) && absorbs(*after, *next)) {
        out.quantize = after;
        out.clamp = next;
      }
    }
    return out;
  }

  void absorb(const Output& output) {
    if (output.clamp != nullptr) fused_[output.clamp->id] = "done by the Q after it";
  }

  /// The activation that the float operator takes along, by single use.
  std::string float_form(const Node& node, const std::string& fused_form) {
    const Node* next = only_reader(node.output(0));
    const bool fuses =
        next != nullptr && (next->is("Relu") || next->is("LeakyRelu") || next->is("Sigmoid") ||
                            next->is("Tanh") || (next->is("Clip") && node.is("Conv")));
    if (!fuses) return node.op_type;
    fused_[next->id] = "fused into " + label(graph_, node);
    return fused_form;
  }

  LayerForm& to_int8(LayerForm& out, std::string form, std::string why) {
    out.form = std::move(form);
    out.precision = kInt8;
    out.why = std::move(why);
    return out;
  }

  /// A condition that failed, and what would meet it.
  struct Obstacle {
    std::string why, mend;
    explicit operator bool() const { return !why.empty(); }
  };

  Obstacle not_through_dq(const Node& node, size_t input) const {
    return {input == 0 ? "its input does not come through DQ"
                       : "its second input does not come through DQ",
            fmt::format("put Q/DQ on \"{}\"", graph_.value(node.input(input)).name)};
  }

  Obstacle float_inputs(const Node& node) const {
    const Codes x = input_codes(node.input(0));
    if (!x.present) return not_through_dq(node, 0);
    if (!input_codes(node.input(1)).present) return not_through_dq(node, 1);
    if (!x.uint8)
      return {"int8 codes with several readers: only a Q of one's own (or uint8) becomes integer",
              kOwnQ};
    return {};
  }

  LayerForm conv(const Node& node, LayerForm out) {
    const Output y = output_of(node);
    Obstacle in_the_way = float_inputs(node);
    if (!in_the_way && !is_stored(node.input(1))) in_the_way = {"its weight is computed", ""};
    if (!in_the_way && has_float_bias(node) && !float_bias_) in_the_way = old_float_bias();
    if (!in_the_way && y.quantize == nullptr && next_is_clamp(node))
      in_the_way = {"the Relu after it stays, because no Q with its lowest code at 0 follows",
                    kLowestIsZero};
    if (!in_the_way && y.quantize == nullptr) in_the_way = no_q_behind(node);
    if (!in_the_way && !codes_of(*y.quantize).uint8)
      in_the_way = {"the Q after it has int8 codes with several readers", kOwnQ};
    if (!in_the_way) {
      absorb(y);
      return to_int8(out, "QLinearConv", "Q/DQ on inputs and output");
    }
    out.form = float_form(node, "FusedConv");
    return stays(out, in_the_way);
  }

  LayerForm gemm(const Node& node, LayerForm out) {
    const Output y = output_of(node);
    Obstacle in_the_way = float_inputs(node);
    const bool bias = node.input(2).valid();
    const bool bias_codes = bias && input_codes(node.input(2)).present;
    const bool float_constant = bias && graph_.constant(node.input(2)) != nullptr;
    const bool quantized = y.quantize != nullptr && codes_of(*y.quantize).uint8;
    if (!in_the_way && has_float_bias(node) && !float_bias_) in_the_way = old_float_bias();
    if (!in_the_way && bias && !bias_codes && !(float_constant && quantized))
      in_the_way = {"a float bias and no Q after it",
                    "store the bias as int32 behind DQ, or put Q/DQ behind the layer"};
    if (!in_the_way && !quantized && next_is_clamp(node))
      in_the_way = {"the Relu after it is fused first, because no Q with its lowest code at 0 "
                    "follows",
                    kLowestIsZero};
    if (!in_the_way) {
      if (quantized) absorb(y);
      return to_int8(out, "QGemm",
                     quantized ? "Q/DQ on inputs and output" : "Q/DQ on inputs, float output");
    }
    out.form = float_form(node, "FusedGemm");
    return stays(out, in_the_way);
  }

  bool has_float_bias(const Node& node) const {
    return node.input(2).valid() && !input_codes(node.input(2)).present;
  }
  static Obstacle old_float_bias() {
    return {"a float bias keeps it in float before release 1.21",
            "store the bias as int32 behind DQ: octet quantize --target does"};
  }

  bool next_is_clamp(const Node& node) const {
    const Node* next = only_reader(node.output(0));
    return next != nullptr && next->is("Relu");
  }
  Obstacle no_q_behind(const Node& node) const {
    return {"no Q follows directly",
            fmt::format("put Q/DQ on its output \"{}\"", graph_.value(node.output(0)).name)};
  }
  static LayerForm stays(LayerForm& out, const Obstacle& in_the_way) {
    out.why = in_the_way.why;
    out.mend = in_the_way.mend;
    return out;
  }

  LayerForm matmul(const Node& node, LayerForm out) {
    if (const Obstacle in_the_way = float_inputs(node)) return stays(out, in_the_way);
    const Output y = output_of(node);
    if (y.quantize != nullptr && codes_of(*y.quantize).uint8) {
      absorb(y);
      return to_int8(out, "QLinearMatMul", "Q/DQ on inputs and output");
    }
    return to_int8(out, "MatMulIntegerToFloat", "Q/DQ on inputs, no Q after it");
  }

  static bool is_around(const Node& node) {
    constexpr std::string_view kOps[] = {
        "AveragePool", "GlobalAveragePool", "Sigmoid", "LeakyRelu", "Softmax", "Add", "Mul",
        "Concat"};
    return node.domain.empty() &&
           std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
  }

  LayerForm around(const Node& node, LayerForm out) {
    for (const ValueId in : node.inputs) {
      const Codes codes = input_codes(in);
      if (!codes.present)
        return stays(out, {"not all of its inputs come through DQ",
                           fmt::format("put Q/DQ on \"{}\"", graph_.value(in).name)});
      if (!codes.uint8) return stays(out, {"int8 codes with several readers", kOwnQ});
    }
    const Output y = output_of(node);
    if (y.quantize == nullptr || !codes_of(*y.quantize).uint8) return stays(out, no_q_behind(node));
    absorb(y);
    return to_int8(out, "QLinear" + node.op_type, "Q/DQ on inputs and output");
  }

  LayerForm movement(const Node& node, LayerForm out) {
    const Codes x = input_codes(node.input(0));
    if (x.present) {
      out.precision = "codes";
      out.why = "DQ moves behind it";
      return out;
    }
    out.why = "its input does not come through DQ";
    return out;
  }

  const Graph& graph_;
  Uses uses_;
  bool float_bias_; ///< whether it turns a float bias into int32 by itself
  std::map<NodeId, std::string> fused_;
};

} // namespace

Result<std::vector<LayerForm>> explain_onnxruntime(const Graph& graph, const TargetDef& target) {
  if (is_cuda(target)) return explain_onnxruntime_cuda(graph);
  OnnxRuntimeExplainer explainer(graph, target);
  std::vector<LayerForm> out;
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    const Node& node = graph.node(id);
    if (!is_qdq(node) && !node.is("Constant")) out.push_back(explainer.layer(node));
  }
  return out;
}

} // namespace octet
