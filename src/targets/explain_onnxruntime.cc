// SPDX-License-Identifier: Apache-2.0
// Which operator of ONNX Runtime (x64, CPU) will run each layer of a Q/DQ file: its fusion rules,
// replayed. Source: docs/targets.md 4.2 (selectors) and 8 (measured), which wins.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/format.h"
#include "ops/qdq/bias.h"
#include "targets/checks.h"
#include "targets/onnxruntime_integer.h"
#include "targets/onnxruntime_versions.h"

namespace octet {

namespace {

constexpr std::string_view kInIntegers = "int8";
constexpr std::string_view kInFloat = "float";
constexpr std::string_view kOnCodes = "codes";
constexpr std::string_view kComputedElsewhere = "fused";
constexpr const char* kOwnWeight =
    "Q/DQ on input and output: it quantizes the float weight by itself when it loads the file";
constexpr const char* kBiasMend = "store the bias as int32 at that scale, or in float";
/// How far a bias' scale may be off: measured.
constexpr double kScaleSlack = 1e-6, kRelativeSlack = 0.01;
constexpr const char* kLowestIsZero =
    "quantize behind the Relu with the lowest code at 0 (int8 zero point -128, or uint8 with 0)";

class OnnxRuntimeExplainer {
 public:
  using Codes = OnnxRuntimeCodes::Codes;
  using Output = OnnxRuntimeCodes::Output;

  OnnxRuntimeExplainer(const Graph& graph, const TargetDef& target)
      : graph_(graph), codes_(graph), dynamic_(graph, codes_),
        float_bias_(target.version >= kFloatBiasSince) {}

  LayerForm layer(const Node& node) {
    LayerForm out;
    out.node = name_of(graph_, node);
    out.op = node.op_type;
    out.form = node.op_type;
    out.precision = kInFloat;
    out.source = "targets 8";
    if (const auto fused = fused_.find(node.id); fused != fused_.end())
      return is(out, kComputedElsewhere, fused->second, "computed by its producer");
    if (codes_.is_absorbed(node))
      return is(out, kComputedElsewhere, "done by the Q after it", "computed by its producer");
    if (node.output(0).valid() && codes_.is_folded(node.output(0)))
      return is(out, kComputedElsewhere, "folded", "computed of constants when the file is loaded");
    if (computes_in_integers(node)) return integer(node, out);
    if (const Node* product = dynamic_.product_of(node))
      return is(out, kComputedElsewhere, "fused into " + label(graph_, *product),
                "computed by the product");
    if (node.is("DynamicQuantizeLinear"))
      return is(out, kOnCodes, node.op_type, "takes scale and codes from the tensor at every run");
    if (node.is("MatMulNBits", kMicrosoft)) return of_few_bits(node, out);
    if (const Obstacle half = in_half_precision(node)) return stays(out, half);
    if (node.is("Conv")) return conv(node, out);
    if (node.is("Gemm")) return gemm(node, out);
    if (node.is("MatMul")) return matmul(node, out);
    if (node.is("ArgMax")) return arg_max(node, out);
    if (is_movement(node)) return movement(node, out);
    if (is_around(node)) return around(node, out);
    if (holds_codes(node.output(0)))
      return is(out, kOnCodes, node.op_type, "its tensors hold codes");
    out.why = node.domain.empty() ? "the Q/DQ fusion has no integer form for it"
                                  : "not an operator that Q/DQ fusion looks at";
    out.source = "targets 4.2";
    return out;
  }

 private:
  static LayerForm&
  is(LayerForm& out, std::string_view precision, std::string form, std::string why) {
    out.form = std::move(form);
    out.precision = precision;
    out.why = std::move(why);
    return out;
  }

  LayerForm integer(const Node& node, LayerForm out) const {
    const std::string form = dynamic_.form(node);
    if (!form.empty()) return is(out, kInIntegers, form, "with Cast and the scales' Mul, as one");
    return is(out, kInIntegers, node.op_type, "an integer operator: it runs as it is");
  }

  static LayerForm of_few_bits(const Node& node, LayerForm out) {
    const bool integers = node.attr_int("accuracy_level", 0) == 4;
    return is(out, integers ? kInIntegers : kInFloat, node.op_type,
              integers ? "accuracy_level 4: its input is quantized to 8 bits at every run"
                       : "its weights are stored in few bits, the product is float");
  }

  bool holds_codes(ValueId value) const {
    const DType type = value.valid() ? graph_.value(value).type.type : DType::kUndefined;
    return is_byte(type);
  }

  /// The activation that the float operator takes along, by single use.
  std::string float_form(const Node& node, const std::string& fused_form) {
    const Node* next = codes_.only_reader(node.output(0));
    const bool fuses =
        next != nullptr && (next->is("Relu") || next->is("LeakyRelu") || next->is("Sigmoid") ||
                            next->is("Tanh") || (next->is("Clip") && node.is("Conv")));
    if (!fuses || codes_.is_absorbed(*next)) return node.op_type;
    fused_[next->id] = "fused into " + label(graph_, node);
    return fused_form;
  }

  /// A condition that failed, and what would meet it.
  struct Obstacle {
    std::string why, mend;
    std::string wants_codes = {}; ///< the value on which the mend puts Q/DQ
    explicit operator bool() const { return !why.empty(); }
  };

  /// No kernel of the CPU provider takes f16 there: it puts casts around a float operator, and Q/DQ
  /// fusion passes it by. What only moves values has kernels for every type.
  Obstacle in_half_precision(const Node& node) const {
    const bool moves = is_movement(node) && !node.is("MaxPool") && !node.is("Resize");
    if (moves || !node.output(0).valid() || !quantizes(node)) return {};
    if (graph_.value(node.output(0)).type.type != DType::kFloat16) return {};
    for (const ValueId in : node.inputs)
      if (in.valid() && codes_.of_input(in).present)
        return {"its Q/DQ are in float16: the CPU provider runs it in float, between casts",
                "quantize the model in float32"};
    return {};
  }

  Obstacle not_through_dq(const Node& node, size_t input) const {
    return with_codes_on(node.input(input), input == 0
                                                ? "its input does not come through DQ"
                                                : "its second input does not come through DQ");
  }
  Obstacle with_codes_on(ValueId value, std::string why) const {
    const std::string& name = graph_.value(value).name;
    return {std::move(why), fmt::format("put Q/DQ on \"{}\"", name), name};
  }
  static Obstacle stays_int8(const Codes& codes) {
    return {codes.why_int8 + ": only uint8 becomes integer, and int8 that can be turned into it",
            codes.mend};
  }

  /// Of a product: both inputs through DQ.
  Obstacle float_inputs(const Node& node) const {
    for (size_t i = 0; i < 2; ++i)
      if (!codes_.of_input(node.input(i)).present) return not_through_dq(node, i);
    const DType weight = codes_.of_input(node.input(1)).type;
    if (!is_byte(weight)) return of_other_bits(weight);
    return {};
  }
  Obstacle int8_input(const Node& node) const {
    const Codes x = codes_.of_input(node.input(0));
    return x.type == DType::kUint8 ? Obstacle{} : stays_int8(x);
  }

  /// A float weight, and a float bias, that it quantizes by itself when the file is loaded: Conv
  /// and Gemm between Q/DQ on input and output.
  bool gets_a_coded_weight(const Node& node, const Output& y) const {
    const Codes x = codes_.of_input(node.input(0));
    const bool codes_come_in = x.present && codes_.has_one_scale(*x.dequantize) && is_byte(x.type);
    return float_bias_ && codes_come_in && y.quantize != nullptr &&
           graph_.constant(node.input(1)) != nullptr &&
           (!node.input(2).valid() || graph_.constant(node.input(2)) != nullptr);
  }

  /// The Q behind a layer makes codes of another type than those that come in.
  Obstacle other_codes(DType in, const Output& y) const {
    if (y.quantize == nullptr) return {};
    const Codes out = codes_.of_quantize(*y.quantize);
    if (out.type == in) return {};
    if (in == DType::kUint8 && out.type == DType::kInt8)
      return {"the Q after it has " + out.why_int8, out.mend};
    return {fmt::format("{} codes come in and {} go out", name(in), name(out.type)),
            "use one type of codes for the layer"};
  }

  LayerForm conv(const Node& node, LayerForm out) {
    const Output y = codes_.output_of(node);
    const bool own = gets_a_coded_weight(node, y);
    Obstacle in_the_way = own ? Obstacle{} : float_inputs(node);
    if (!in_the_way) in_the_way = int8_input(node);
    if (!in_the_way && !own && !codes_.is_stored(node.input(1)))
      in_the_way = {"its weight is computed", ""};
    if (!in_the_way && has_float_bias(node) && !float_bias_) in_the_way = old_float_bias();
    if (!in_the_way && has_float_bias(node) && !own) in_the_way = odd_scales(node, 0);
    if (!in_the_way && node.input(2).valid()) in_the_way = several_scales(node);
    if (!in_the_way && !own) in_the_way = odd_bias(node);
    if (!in_the_way && y.quantize == nullptr && next_is_clamp(node))
      in_the_way = {"the Relu after it stays, because no Q with its lowest code at 0 follows",
                    kLowestIsZero};
    if (!in_the_way && y.quantize == nullptr) in_the_way = no_q_behind(node);
    if (!in_the_way) in_the_way = other_codes(DType::kUint8, y);
    if (!in_the_way) {
      return is(out, kInIntegers, "QLinearConv", own ? kOwnWeight : "Q/DQ on inputs and output");
    }
    out.form = float_form(node, "FusedConv");
    return stays(out, in_the_way);
  }

  LayerForm gemm(const Node& node, LayerForm out) {
    if (has_stored_weight_alone(node)) return matmul(node, out);
    const Output y = codes_.output_of(node);
    const bool own = gets_a_coded_weight(node, y);
    Obstacle in_the_way = own ? Obstacle{} : float_inputs(node);
    const Codes x = codes_.of_input(node.input(0));
    const bool bias = node.input(2).valid();
    if (!in_the_way && bias && !is_plain_gemm(node))
      in_the_way = {"a bias beside alpha or beta other than 1",
                    "fold alpha into the weight's scale, beta into the bias"};
    const bool bias_codes = bias && codes_.of_input(node.input(2)).present;
    const bool float_constant = bias && graph_.constant(node.input(2)) != nullptr;
    const bool quantized = y.quantize != nullptr;
    if (!in_the_way && !own && x.type == DType::kInt8 && weight_type(node) != DType::kInt8)
      in_the_way = stays_int8(x);
    if (!in_the_way && !is_byte(x.type)) in_the_way = of_other_bits(x.type);
    if (!in_the_way && !own) in_the_way = odd_scales(node, node.attr_int("transB", 0) != 0 ? 0 : 1);
    if (!in_the_way) in_the_way = other_codes(x.type, y);
    if (!in_the_way && has_float_bias(node) && !float_bias_) in_the_way = old_float_bias();
    if (!in_the_way && bias && !bias_codes && !(float_constant && quantized))
      in_the_way = {"a float bias and no Q after it",
                    "store the bias as int32 behind DQ, or put Q/DQ behind the layer"};
    if (!in_the_way && !quantized && next_is_clamp(node))
      in_the_way = {"the Relu after it is fused first, because no Q with its lowest code at 0 "
                    "follows",
                    kLowestIsZero};
    if (!in_the_way) {
      return is(out, kInIntegers, "QGemm",
                own         ? kOwnWeight
                : quantized ? "Q/DQ on inputs and output"
                            : "Q/DQ on inputs, float output");
    }
    out.form = float_form(node, "FusedGemm");
    return stays(out, in_the_way);
  }

  /// What the second input's codes are: those of a weight stay as they are.
  DType weight_type(const Node& node) const {
    const Node* dq = graph_.producer(node.input(1));
    return codes_.is_stored(node.input(1)) ? graph_.value(dq->input(0)).type.type
                                           : codes_.of_input(node.input(1)).type;
  }

  Obstacle several_scales(const Node& node) const {
    if (codes_.has_one_scale(*codes_.of_input(node.input(0)).dequantize)) return {};
    return {"its input has several scales", "quantize with one scale for the tensor"};
  }
  /// More scales than one of the activation, or of the weight along another axis than its columns.
  Obstacle odd_scales(const Node& node, int64_t columns) const {
    if (Obstacle several = several_scales(node)) return several;
    const Codes w = codes_.of_input(node.input(1));
    if (codes_.has_one_scale(*w.dequantize) || has_scales_along(graph_, *w.dequantize, columns))
      return {};
    return {"its weight has scales along another axis than its outputs",
            fmt::format("quantize the weight along axis {}", columns)};
  }

  /// Of Conv, it compares the bias' scale with the sum's, roughly; of Gemm it does not look.
  Obstacle odd_bias(const Node& node) const {
    const Codes bias = codes_.of_input(node.input(2));
    if (!bias.present) return {};
    if (bias.type != DType::kInt32) return {"its bias has codes that are not int32", kBiasMend};
    const auto scales = [&](size_t input) {
      return qdq::written(graph_, *codes_.of_input(node.input(input)).dequantize).scales;
    };
    const Tensor *x = scales(0), *w = scales(1), *b = scales(2);
    const Tensor* zero = qdq::written(graph_, *bias.dequantize).zeros;
    for (int64_t i = 0; zero != nullptr && i < zero->count(); ++i)
      if (zero->at(i) != 0) return {"its bias has a zero point", kBiasMend};
    if (x == nullptr || w == nullptr || b == nullptr || x->count() != 1) return {};
    const auto steps = qdq::sum_steps(x->at(0), w->to_doubles().value());
    const auto count = static_cast<int64_t>(steps.size());
    for (int64_t i = 0; i < std::max(count, b->count()); ++i) {
      const double step = steps[static_cast<size_t>(count == 1 ? 0 : i % count)];
      const double scale = b->at(b->count() == 1 ? 0 : i);
      if (std::abs(scale - step) > kScaleSlack + kRelativeSlack * std::abs(step))
        return {"its bias has another scale than its input's times its weight's", kBiasMend};
    }
    return {};
  }

  static bool is_plain_gemm(const Node& node) {
    return node.attr_float("alpha", 1) == 1 && node.attr_float("beta", 1) == 1;
  }

  bool has_float_bias(const Node& node) const {
    return node.input(2).valid() && !codes_.of_input(node.input(2)).present;
  }
  static Obstacle old_float_bias() {
    return {"a float bias keeps it in float before release 1.21",
            "store the bias as int32 behind DQ: octet quantize --target does"};
  }

  bool next_is_clamp(const Node& node) const {
    const Node* next = codes_.only_reader(node.output(0));
    return next != nullptr && next->is("Relu");
  }
  Obstacle no_q_behind(const Node& node) const {
    const std::string& name = graph_.value(node.output(0)).name;
    return {"no Q follows directly", fmt::format("put Q/DQ on its output \"{}\"", name), name};
  }
  static LayerForm stays(LayerForm& out, const Obstacle& in_the_way) {
    out.why = in_the_way.why;
    out.mend = in_the_way.mend;
    if (!in_the_way.wants_codes.empty()) out.wants_codes = {in_the_way.wants_codes};
    return out;
  }

  /// A float input and a weight of 4 or 8 bits: one scale, one for each column, or blocks of rows.
  bool has_stored_weight_alone(const Node& node) const {
    if (codes_.of_input(node.input(0)).present || !codes_.is_stored(node.input(1))) return false;
    const Node& dq = *graph_.producer(node.input(1));
    const TypeInfo& type = graph_.value(node.input(1)).type;
    const Tensor* scale = qdq::written(graph_, dq).scales;
    if (!type.has_rank() || type.rank() != 2 || scale == nullptr || node.input(2).valid() ||
        codes_.only_reader(dq.output(0)) != &node || node.attr_int("transB", 0) != 0)
      return false;
    const int64_t axis = dq.attr_int("axis", 1);
    const bool rows = axis == 0 || axis == -2;
    return scale->count() == 1 || (dq.attr_int("block_size", 0) > 0 ? rows : !rows);
  }

  LayerForm matmul(const Node& node, LayerForm out) {
    if (has_stored_weight_alone(node))
      return is(out, kInFloat, "MatMulNBits", "its weight stays in codes, the product is float");
    Obstacle in_the_way = float_inputs(node);
    if (!in_the_way) in_the_way = int8_input(node);
    const Output y = codes_.output_of(node);
    if (!in_the_way) in_the_way = other_codes(DType::kUint8, y);
    if (in_the_way) return stays(out, in_the_way);
    if (y.quantize == nullptr)
      return is(out, kInIntegers, "MatMulIntegerToFloat", "Q/DQ on inputs, no Q after it");
    return is(out, kInIntegers, "QLinearMatMul", "Q/DQ on inputs and output");
  }

  static bool is_around(const Node& node) {
    constexpr std::string_view kOps[] = {"AveragePool", "GlobalAveragePool",
                                         "Sigmoid",     "LeakyRelu",
                                         "Softmax",     "Add",
                                         "Mul",         "Concat",
                                         "Where"};
    return node.domain.empty() &&
           std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
  }
  static bool is_movement(const Node& node) {
    return onnxruntime_moves_codes_past(node) || onnxruntime_drops_codes_around(node);
  }
  static bool quantizes(const Node& node) {
    return node.is("Conv") || node.is("Gemm") || node.is("MatMul") || is_around(node) ||
           is_movement(node);
  }

  LayerForm around(const Node& node, LayerForm out) {
    DType in = DType::kUndefined;
    for (size_t i = node.is("Where") ? 1 : 0; i < node.inputs.size(); ++i) {
      const Codes codes = codes_.of_input(node.input(i));
      if (!codes.present)
        return stays(out, with_codes_on(node.input(i), "not all of its inputs come through DQ"));
      if (in != DType::kUndefined && in != codes.type)
        return stays(out, {"its inputs have codes of several types", "use one type for all"});
      in = codes.type;
    }
    if (!is_byte(in)) return stays(out, of_other_bits(in));
    const Output y = codes_.output_of(node);
    if (y.quantize == nullptr) return stays(out, no_q_behind(node));
    if (const Obstacle in_the_way = other_codes(in, y)) return stays(out, in_the_way);
    return is(out, kInIntegers, "QLinear" + node.op_type, "Q/DQ on inputs and output");
  }

  LayerForm movement(const Node& node, LayerForm out) const {
    if (holds_codes(node.output(0)))
      return is(out, kOnCodes, node.op_type, "its tensors hold codes");
    const bool past = onnxruntime_moves_codes_past(node);
    const Codes x = codes_.of_input(node.input(0));
    const Output y = codes_.output_of(node);
    const bool quantized = y.quantize != nullptr && y.clamp == nullptr;
    if (!x.present) {
      if (quantized && past) return is(out, kOnCodes, node.op_type, "Q moves before it");
      out.why = "its input does not come through DQ";
      return out;
    }
    if (!moves_codes_of(node, x.type)) return stays(out, of_other_bits(x.type));
    if (quantized) {
      if (takes_one_scale(node, *x.dequantize))
        return is(out, kOnCodes, node.op_type, "Q/DQ on both sides go");
      if (past && graph_.producer(node.input(0)) != x.dequantize)
        return is(out, kOnCodes, node.op_type, "Q moves before it");
      return stays(out, {"the Q behind it has another scale or zero point than the DQ before it",
                         "give both the same scale and zero point"});
    }
    if (!past) return stays(out, no_q_behind(node));
    if (!codes_.has_one_scale(*x.dequantize))
      return stays(out, {"the DQ before it has several scales, so it stays where it is",
                         "quantize with one scale for the tensor"});
    return is(out, kOnCodes, node.op_type, "DQ moves behind it");
  }

  /// Every output goes into a Q with the parameters of the DQ before.
  bool takes_one_scale(const Node& node, const Node& dequantize) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
      if (!out.valid()) return true;
      const Node* quantize = codes_.quantize_of(out);
      return quantize != nullptr && codes_.have_one_scale(dequantize, *quantize);
    });
  }

  /// The order of codes is that of values, so its DQ goes.
  LayerForm arg_max(const Node& node, LayerForm out) const {
    const Codes x = codes_.of_input(node.input(0));
    const bool drops = x.present && x.type != DType::kInt16 && x.type != DType::kUint16 &&
                       codes_.has_one_scale(*x.dequantize);
    if (drops || holds_codes(node.input(0)))
      return is(out, kOnCodes, node.op_type, "the DQ before it goes");
    out.why = x.present ? "its DQ has several scales, or codes of more than 8 bits"
                        : "its input does not come through DQ";
    return out;
  }

  /// Codes of 16 bits move where their order and neighbours do not matter.
  static bool moves_codes_of(const Node& node, DType codes) {
    if (is_byte(codes)) return true;
    constexpr std::string_view kOps[] = {"MaxPool", "Resize", "DepthToSpace", "ReduceMax",
                                         "ReduceMin"};
    return std::find(std::begin(kOps), std::end(kOps), node.op_type) == std::end(kOps);
  }
  static Obstacle of_other_bits(DType codes) {
    return {fmt::format("its codes are {}: there is no such kernel", name(codes)),
            "quantize to 8 bits"};
  }

  const Graph& graph_;
  const OnnxRuntimeCodes codes_;
  const DynamicProducts dynamic_;
  bool float_bias_; ///< whether it turns a float bias into int32 by itself
  std::map<NodeId, std::string> fused_;
};

} // namespace

LayerForm onnxruntime_layer(const Graph& graph, const TargetDef& target, const Node& node) {
  return OnnxRuntimeExplainer(graph, target).layer(node);
}

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
