// SPDX-License-Identifier: Apache-2.0
// Which operator of ONNX Runtime (x64, CPU) will run each layer of a Q/DQ file: its fusion rules,
// replayed. Source: docs/targets.md 4.2 (selectors) and 8 (measured), which wins.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/format.h"
#include "ops/qdq/bias.h"
#include "targets/checks.h"
#include "targets/onnxruntime/integer.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/prepared.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

using Form = OnnxRuntimeForm;

/// A layer, and what its form is called.
struct Layer {
  Form form = Form::kAsWritten;
  LayerForm said;
  const Node* lacks_zero_point = nullptr; ///< the DQ, where only that keeps a Gemm in float
};

/// Why codes stay as they are, and what would make them uint8.
struct KeptText {
  std::string why, mend;
};
KeptText text_of(const OnnxRuntimeCodes::Codes& codes) {
  using Kept = OnnxRuntimeCodes::KeptInt8;
  constexpr const char* kOwnQuantize =
      "give each reader its own Q, or use uint8 with zero point 128";
  constexpr const char* kDirectly = "use uint8, or let DQ follow Q directly";
  switch (codes.kept) {
  case Kept::kNo:
    return {fmt::format("codes of {}", octet::name(codes.type)), "quantize to 8 bits"};
  case Kept::kStored:
    return {"int8 codes that no Q makes", "use uint8"};
  case Kept::kNoQuantize:
    return {"int8 codes that no Q makes", kDirectly};
  case Kept::kBehindOperator:
    return {"int8 codes that go through " + codes.between->op_type + " before DQ", kDirectly};
  case Kept::kSeveralReaders:
    return {"int8 codes with several readers", kOwnQuantize};
  case Kept::kNoScalarZero:
    return {"int8 codes without one zero point", kOwnQuantize};
  }
  return {};
}

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
      : graph_(graph), target_(target), codes_(graph), dynamic_(graph, codes_),
        float_bias_(target.version >= kFloatBiasSince) {}

  Layer layer(const Node& node) {
    Layer out;
    out.said.id = node.id;
    out.said.node = name_of(graph_, node);
    out.said.op = node.op_type;
    out.said.form = node.op_type;
    out.said.source = "targets 8";
    if (const auto fused = fused_.find(node.id); fused != fused_.end())
      return gone(out, "fused into " + label(graph_, *fused->second), "computed by its producer");
    if (codes_.is_absorbed(node))
      return gone(out, "done by the Q after it", "computed by its producer");
    if (node.output(0).valid() && codes_.is_folded(node.output(0)))
      return gone(out, "folded", "computed of constants when the file is loaded");
    if (computes_in_integers(node)) return integer(node, out);
    if (const Node* product = dynamic_.product_of(node))
      return gone(out, "fused into " + label(graph_, *product), "computed by the product");
    if (node.is("DynamicQuantizeLinear"))
      return on_codes(out, "takes scale and codes from the tensor at every run");
    if (node.is("MatMulNBits", kMicrosoft)) return of_few_bits(node, out);
    const bool product = node.is("MatMul") || node.is("Gemm");
    if (!(product && target_.version >= kStoredHalfSince && has_stored_weight_alone(node)))
      if (const Obstacle half = in_half_precision(node)) return stays(out, *half);
    if (node.is("Conv")) return conv(node, out);
    if (node.is("Gemm")) return gemm(node, out);
    if (const Node* add = onnxruntime_gemm_bias(graph_, codes_.uses(), node))
      return as_gemm(node, *add, out);
    if (node.is("MatMul")) return matmul(node, out);
    if (node.is("ArgMax")) return arg_max(node, out);
    if (is_movement(node)) return movement(node, out);
    if (is_around(node)) return around(node, out);
    if (holds_codes(node.output(0))) return on_codes(out, "its tensors hold codes");
    out.said.why = node.domain.empty() ? "the Q/DQ fusion has no integer form for it"
                                       : "not an operator that Q/DQ fusion looks at";
    out.said.source = "targets 4.2";
    return out;
  }

 private:
  static Layer runs(Layer& out, LayerPrecision precision, std::string why) {
    out.said.precision = precision;
    out.said.why = std::move(why);
    return std::move(out);
  }
  static Layer on_codes(Layer& out, std::string why) {
    return runs(out, LayerPrecision::kCodes, std::move(why));
  }
  static Layer gone(Layer& out, std::string where, std::string why) {
    out.form = Form::kGone;
    out.said.form = std::move(where);
    return runs(out, LayerPrecision::kFused, std::move(why));
  }
  static void take(Layer& out, const Node& node, Form form) {
    out.form = form;
    out.said.form = operator_of(form, node);
  }
  static Layer in_integers(Layer& out, const Node& node, Form form, std::string why) {
    take(out, node, form);
    return runs(out, LayerPrecision::kInt8, std::move(why));
  }

  Layer integer(const Node& node, Layer out) const {
    const Form form = dynamic_.form(node);
    return in_integers(out, node, form,
                       form == Form::kAsWritten ? "an integer operator: it runs as it is"
                                                : "with Cast and the scales' Mul, as one");
  }

  static Layer of_few_bits(const Node& node, Layer out) {
    const bool integers = node.attr_int("accuracy_level", 0) == 4;
    return runs(out, integers ? LayerPrecision::kInt8 : LayerPrecision::kFloat,
                integers ? "accuracy_level 4: its input is quantized to 8 bits at every run"
                         : "its weights are stored in few bits, the product is float");
  }

  bool holds_codes(ValueId value) const {
    const DType type = value.valid() ? graph_.value(value).type.type : DType::kUndefined;
    return is_byte(type);
  }

  /// Float, with the activation that it takes along, by single use.
  void take_float_form(const Node& node, Layer& out) {
    const Node* next = codes_.only_reader(node.output(0));
    const bool fuses =
        next != nullptr && (next->is("Relu") || next->is("LeakyRelu") || next->is("Sigmoid") ||
                            next->is("Tanh") || (next->is("Clip") && node.is("Conv")));
    if (!fuses || codes_.is_absorbed(*next)) return;
    fused_[next->id] = &graph_.node(node.id);
    take(out, node, Form::kFusedFloat);
  }

  /// A condition that failed, and what would meet it.
  struct Unmet {
    std::string why, mend;
    std::string wants_codes = {}; ///< the value on which the mend puts Q/DQ
  };
  using Obstacle = std::optional<Unmet>;

  /// No kernel of the CPU provider takes f16 there: it puts casts around a float operator, and Q/DQ
  /// fusion passes it by. What only moves values has kernels for every type.
  Obstacle in_half_precision(const Node& node) const {
    const bool moves = is_movement(node) && !node.is("MaxPool") && !node.is("Resize");
    if (moves || !node.output(0).valid() || !quantizes(node)) return {};
    if (graph_.value(node.output(0)).type.type != DType::kFloat16) return {};
    for (const ValueId in : node.inputs)
      if (in.valid() && codes_.of_input(in).present)
        return Unmet{"its Q/DQ are in float16: the CPU provider runs it in float, between casts",
                     "quantize the model in float32"};
    return {};
  }

  Unmet not_through_dq(const Node& node, size_t input) const {
    return with_codes_on(node.input(input), input == 0
                                                ? "its input does not come through DQ"
                                                : "its second input does not come through DQ");
  }
  Unmet with_codes_on(ValueId value, std::string why) const {
    const std::string& name = graph_.value(value).name;
    return {std::move(why), fmt::format("put Q/DQ on \"{}\"", name), name};
  }
  static Unmet stays_int8(const Codes& codes) {
    KeptText kept = text_of(codes);
    return {kept.why + ": only uint8 becomes integer, and int8 that can be turned into it",
            std::move(kept.mend)};
  }

  /// Of a product: both inputs through DQ.
  Obstacle float_inputs(const Node& node) const {
    for (size_t i = 0; i < 2; ++i)
      if (!codes_.of_input(node.input(i)).present) return not_through_dq(node, i);
    const DType weight = codes_.of_input(node.input(1)).type;
    if (!are_fused(weight)) return of_other_bits(weight);
    return {};
  }
  Obstacle int8_input(const Node& node) const {
    const Codes x = codes_.of_input(node.input(0));
    if (x.type == DType::kUint8 || onnxruntime_takes_for_bytes(x.type)) return {};
    // Of Conv it does not know those of 4 bits either.
    if (node.is("Conv") && (x.type == DType::kInt4 || x.type == DType::kUint4)) return {};
    return stays_int8(x);
  }

  /// Codes that the fusion takes for bytes; without a kernel for them the file is refused.
  static bool are_fused(DType codes) {
    return is_byte(codes) || onnxruntime_takes_for_bytes(codes);
  }

  /// A float weight, and a float bias, that it quantizes by itself when the file is loaded: Conv
  /// and Gemm between Q/DQ on input and output.
  bool gets_a_coded_weight(const Node& node) const {
    const Codes x = codes_.of_input(node.input(0));
    return x.present && are_fused(x.type) &&
           onnxruntime_rounds_weight(graph_, codes_.uses(), target_, node);
  }

  /// The Q behind a layer makes codes of another type than those that come in.
  Obstacle other_codes(DType in, const Output& y) const {
    if (y.quantize == nullptr) return {};
    const Codes out = codes_.of_output(y);
    if (out.type == in) return {};
    if (in == DType::kUint8 && out.type == DType::kInt8) {
      KeptText kept = text_of(out);
      return Unmet{"the Q after it has " + kept.why, std::move(kept.mend)};
    }
    return Unmet{fmt::format("{} codes come in and {} go out", name(in), name(out.type)),
                 "use one type of codes for the layer"};
  }

  Layer conv(const Node& node, Layer out) {
    const Output y = codes_.output_of(node);
    const bool own = gets_a_coded_weight(node);
    Obstacle in_the_way = own ? Obstacle{} : float_inputs(node);
    if (!in_the_way) in_the_way = int8_input(node);
    if (!in_the_way && !own && !codes_.is_stored(node.input(1)))
      in_the_way = Unmet{"its weight is computed", ""};
    if (!in_the_way && has_float_bias(node) && !float_bias_) in_the_way = old_float_bias();
    if (!in_the_way && has_float_bias(node) && !own) in_the_way = odd_scales(node);
    if (!in_the_way && node.input(2).valid()) in_the_way = several_scales(node);
    if (!in_the_way && !own) in_the_way = odd_bias(node);
    if (!in_the_way && y.quantize == nullptr && next_is_clamp(node))
      in_the_way = Unmet{"the Relu after it stays, because no Q with its lowest code at 0 follows",
                         kLowestIsZero};
    if (!in_the_way && y.quantize == nullptr) in_the_way = no_q_behind(node);
    if (!in_the_way) in_the_way = other_codes(codes_.of_input(node.input(0)).type, y);
    if (!in_the_way)
      return in_integers(out, node, Form::kQLinear, own ? kOwnWeight : "Q/DQ on inputs and output");
    take_float_form(node, out);
    return stays(out, *in_the_way);
  }

  Layer gemm(const Node& node, Layer out) {
    if (has_stored_weight_alone(node)) return matmul(node, out);
    const Output y = codes_.output_of(node);
    const bool own = gets_a_coded_weight(node);
    Obstacle in_the_way = own ? Obstacle{} : float_inputs(node);
    Codes x = codes_.of_input(node.input(0));
    const TypeInfo& matrix = graph_.value(node.input(0)).type;
    if (x.present && matrix.has_rank() && matrix.rank() != 2) x = codes_.behind_move(x);
    const bool bias = node.input(2).valid();
    if (!in_the_way && !bias && next_turns(node))
      in_the_way = Unmet{"the Transpose behind it becomes part of it first",
                         "give it a bias, or another reader beside the Transpose"};
    if (!in_the_way && bias && !is_plain_gemm(node))
      in_the_way = Unmet{"a bias beside alpha or beta other than 1",
                         "fold alpha into the weight's scale, beta into the bias"};
    const bool bias_codes = bias && codes_.of_input(node.input(2)).present;
    const bool float_constant = bias && graph_.constant(node.input(2)) != nullptr;
    const bool quantized = y.quantize != nullptr;
    if (!in_the_way && !own && x.type == DType::kInt8 && weight_type(node) != DType::kInt8)
      in_the_way = stays_int8(x);
    if (!in_the_way && !are_fused(x.type)) in_the_way = of_other_bits(x.type);
    if (!in_the_way && !own) in_the_way = odd_scales(node);
    if (!in_the_way) in_the_way = other_codes(x.type, y);
    if (!in_the_way && has_float_bias(node) && !float_bias_) in_the_way = old_float_bias();
    if (!in_the_way && bias && !bias_codes && !(float_constant && quantized))
      in_the_way = Unmet{"a float bias and no Q after it",
                         "store the bias as int32 behind DQ, or put Q/DQ behind the layer"};
    if (!in_the_way && !quantized && next_is_clamp(node))
      in_the_way = Unmet{"the Relu after it is fused first, because no Q with its lowest code at 0 "
                         "follows",
                         kLowestIsZero};
    if (!in_the_way) {
      out.lacks_zero_point = lacking_zero_point(node);
      if (const Node* dq = out.lacks_zero_point) in_the_way = without_zero_point(*dq);
    }
    if (!in_the_way)
      return in_integers(out, node, Form::kQGemm,
                         own         ? kOwnWeight
                         : quantized ? "Q/DQ on inputs and output"
                                     : "Q/DQ on inputs, float output");
    take_float_form(node, out);
    return stays(out, *in_the_way);
  }

  /// The DQ of an operand, that of a float weight aside, which gets one when it is coded. The kernel
  /// wants two zero points, and Gemm is left alone where one is not written.
  const Node* lacking_zero_point(const Node& node) const {
    if (target_.version < kGemmZeroPointSince) return nullptr;
    for (size_t i = 0; i < 2; ++i)
      if (const Codes codes = codes_.of_input(node.input(i));
          codes.present && !codes_.has_zero_point(*codes.dequantize))
        return codes.dequantize;
    return nullptr;
  }

  /// A MatMul and the Add of its bias, as one.
  Layer as_gemm(const Node& node, const Node& add, Layer out) {
    Node both = node;
    both.op_type = "Gemm";
    both.inputs.push_back(add.input(add.input(0) == node.output(0) ? 1 : 0));
    both.outputs = add.outputs;
    fused_[add.id] = &node;
    out.said.form = both.op_type;
    const TypeInfo& bias = graph_.value(both.inputs.back()).type;
    if (bias.rank() != 1 && codes_.of_input(both.input(0)).present)
      return stays(out, {"its bias has rows", "give the bias one axis"});
    return gemm(both, out);
  }

  /// What the second input's codes are: those of a weight stay as they are.
  DType weight_type(const Node& node) const {
    const Codes w = codes_.of_input(node.input(1));
    return codes_.is_stored(node.input(1)) ? graph_.value(w.dequantize->input(0)).type.type
                                           : w.type;
  }

  Obstacle several_scales(const Node& node) const {
    if (codes_.has_one_scale(*codes_.of_input(node.input(0)).dequantize)) return {};
    return Unmet{"its input has several scales", "quantize with one scale for the tensor"};
  }
  /// More scales than one of the activation, or of the weight along another axis than its columns.
  Obstacle odd_scales(const Node& node) const {
    if (Obstacle several = several_scales(node)) return several;
    const Codes w = codes_.of_input(node.input(1));
    const int64_t columns = onnxruntime_channel_axis(node);
    if (codes_.has_one_scale(*w.dequantize)) return {};
    if (node.is("Gemm") && !has_float_bias(node) ? has_a_scale_for_each(node, columns)
                                                 : has_scales_along(graph_, node.input(1), columns))
      return {};
    return Unmet{"its weight has scales along another axis than its outputs",
                 fmt::format("quantize the weight along axis {}", columns)};
  }

  /// As many as there are columns: the axis is not looked at.
  bool has_a_scale_for_each(const Node& node, int64_t columns) const {
    const qdq::Written w = qdq::written(graph_, *codes_.of_input(node.input(1)).dequantize);
    const auto shape = graph_.value(node.input(1)).type.static_shape();
    return w.scales != nullptr && w.block == 0 && shape && shape->size() == 2 &&
           w.scales->count() == (*shape)[static_cast<size_t>(columns)];
  }

  /// Of Conv, it compares the bias' scale with the sum's, roughly; of Gemm it does not look.
  Obstacle odd_bias(const Node& node) const {
    const Codes bias = codes_.of_input(node.input(2));
    if (!bias.present) return {};
    if (bias.type != DType::kInt32)
      return Unmet{"its bias has codes that are not int32", kBiasMend};
    const auto scales = [&](size_t input) {
      return qdq::written(graph_, *codes_.of_input(node.input(input)).dequantize).scales;
    };
    const Tensor *x = scales(0), *w = scales(1), *b = scales(2);
    const Tensor* zero = qdq::written(graph_, *bias.dequantize).zeros;
    for (int64_t i = 0; zero != nullptr && i < zero->count(); ++i)
      if (zero->at(i) != 0) return Unmet{"its bias has a zero point", kBiasMend};
    if (x == nullptr || w == nullptr || b == nullptr || x->count() != 1) return {};
    const auto steps = qdq::sum_steps(x->at(0), w->to_doubles().value());
    const auto count = static_cast<int64_t>(steps.size());
    for (int64_t i = 0; i < std::max(count, b->count()); ++i) {
      const double step = steps[static_cast<size_t>(count == 1 ? 0 : i % count)];
      const double scale = b->at(b->count() == 1 ? 0 : i);
      if (std::abs(scale - step) > kScaleSlack + kRelativeSlack * std::abs(step))
        return Unmet{"its bias has another scale than its input's times its weight's", kBiasMend};
    }
    return {};
  }

  static bool is_plain_gemm(const Node& node) {
    return node.attr_float("alpha", 1) == 1 && node.attr_float("beta", 1) == 1;
  }

  bool has_float_bias(const Node& node) const {
    return node.input(2).valid() && !codes_.of_input(node.input(2)).present;
  }
  static Unmet old_float_bias() {
    return {"a float bias keeps it in float before release 1.21",
            "store the bias as int32 behind DQ: octet quantize --target does"};
  }

  /// Its matrix is read by a Transpose alone.
  bool next_turns(const Node& node) const {
    const Node* next = codes_.only_reader(node.output(0));
    if (next == nullptr || !next->is("Transpose")) return false;
    const std::vector<int64_t> perm = next->attr_ints("perm");
    return perm.empty() || perm == std::vector<int64_t>{1, 0};
  }
  bool next_is_clamp(const Node& node) const {
    const Node* next = codes_.only_reader(node.output(0));
    return next != nullptr && next->is("Relu");
  }
  Unmet no_q_behind(const Node& node) const {
    const std::string& name = graph_.value(node.output(0)).name;
    return {"no Q follows directly", fmt::format("put Q/DQ on its output \"{}\"", name), name};
  }
  static Layer stays(Layer& out, Unmet in_the_way) {
    out.said.why = std::move(in_the_way.why);
    out.said.mend = std::move(in_the_way.mend);
    if (!in_the_way.wants_codes.empty()) out.said.wants_codes = {std::move(in_the_way.wants_codes)};
    return std::move(out);
  }

  /// A Gemm that is MatMul and Add of a bias along the columns, or a MatMul.
  bool has_plain_operands(const Node& node) const {
    const TypeInfo* bias = node.input(2).valid() ? &graph_.value(node.input(2)).type : nullptr;
    return node.attr_float("alpha", 1) == 1 && node.attr_int("transA", 0) == 0 &&
           node.attr_int("transB", 0) == 0 &&
           (bias == nullptr || (is_plain_gemm(node) && bias->has_rank() && bias->rank() == 1));
  }

  /// A float input, no Q behind, and an integer weight of 2, 4 or 8 bits: one scale, one for each
  /// column, or blocks of rows.
  bool has_stored_weight_alone(const Node& node) const {
    const Node* maker = graph_.producer(node.input(1));
    if (codes_.of_input(node.input(0)).present || !codes_.is_stored(node.input(1)) ||
        !is_dequantize(*maker) || codes_.output_of(node).quantize != nullptr)
      return false;
    const qdq::Written dq = qdq::written(graph_, *maker);
    if (!is_integer(dq.codes_type) || bits(dq.codes_type) > 8) return false;
    const TypeInfo& type = graph_.value(node.input(1)).type;
    if (!type.has_rank() || type.rank() != 2 || dq.scales == nullptr ||
        codes_.uses().count(dq.real) != 1 || !has_plain_operands(node))
      return false;
    const bool rows = dq.axis == 0 || dq.axis == -2;
    return dq.scales->count() == 1 || (dq.block > 0 ? rows : !rows);
  }

  Layer matmul(const Node& node, Layer out) {
    if (has_stored_weight_alone(node)) {
      take(out, node, Form::kMatMulNBits);
      return runs(out, LayerPrecision::kFloat,
                  "its weight stays in codes; the kernel rounds its input to 8 bits, unless "
                  "session.qdq_matmulnbits_accuracy_level is 0");
    }
    Obstacle in_the_way = float_inputs(node);
    if (!in_the_way) in_the_way = int8_input(node);
    const Output y = codes_.output_of(node);
    if (!in_the_way) in_the_way = other_codes(codes_.of_input(node.input(0)).type, y);
    if (in_the_way) return stays(out, *in_the_way);
    if (y.quantize == nullptr)
      return in_integers(out, node, Form::kMatMulIntegerToFloat, "Q/DQ on inputs, no Q after it");
    return in_integers(out, node, Form::kQLinear, "Q/DQ on inputs and output");
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

  Layer around(const Node& node, Layer out) {
    DType in = DType::kUndefined;
    for (size_t i = node.is("Where") ? 1 : 0; i < node.inputs.size(); ++i) {
      const Codes codes = codes_.of_input(node.input(i));
      if (!codes.present)
        return stays(out, with_codes_on(node.input(i), "not all of its inputs come through DQ"));
      if (in != DType::kUndefined && in != codes.type)
        return stays(out, {"its inputs have codes of several types", "use one type for all"});
      in = codes.type;
    }
    if (!are_fused(in)) return stays(out, of_other_bits(in));
    const Output y = codes_.output_of(node);
    if (y.quantize == nullptr) return stays(out, no_q_behind(node));
    if (const Obstacle in_the_way = other_codes(in, y)) return stays(out, *in_the_way);
    return in_integers(out, node, Form::kQLinear, "Q/DQ on inputs and output");
  }

  Layer movement(const Node& node, Layer out) const {
    if (holds_codes(node.output(0))) return on_codes(out, "its tensors hold codes");
    out = moved(node, std::move(out));
    if (out.said.precision != LayerPrecision::kCodes) return out;
    // The pairs go only where a zero point says what type the codes have.
    const Node* before = codes_.of_input(node.input(0)).dequantize;
    std::vector<const Node*> pairs = {before};
    for (const ValueId value : node.outputs)
      if (value.valid()) pairs.push_back(codes_.quantize_of(value));
    // Of what a DQ moves past, the Q is made after it.
    const bool moves = std::all_of(pairs.begin() + 1, pairs.end(),
                                   [](const Node* quantize) { return quantize == nullptr; });
    if (before != nullptr && moves && !qdq::written(graph_, *before).zero.valid()) {
      out.said.precision = LayerPrecision::kFloat;
      return stays(out, without_zero_point(*before));
    }
    for (const Node* pair : pairs)
      if (pair != nullptr && !codes_.has_zero_point(*pair)) {
        out.said.precision = LayerPrecision::kFloat;
        return stays(out, without_zero_point(*pair));
      }
    return out;
  }

  Unmet without_zero_point(const Node& pair) const {
    return {fmt::format("{} has no zero point", label(graph_, pair)), "write its zero point"};
  }

  /// The same, where all have zero points.
  Layer moved(const Node& node, Layer out) const {
    const bool past = onnxruntime_moves_codes_past(node);
    const Codes x = codes_.of_input(node.input(0));
    const Output y = codes_.output_of(node);
    const bool quantized = y.quantize != nullptr && y.clamp == nullptr;
    if (!x.present) {
      const bool strips = quantized && onnxruntime_strips_codes(node, codes_.of_output(y).type);
      if (strips && past && codes_.uses().count(node.input(0)) == 1)
        return on_codes(out, "Q moves before it");
      out.said.why = "its input does not come through DQ";
      return out;
    }
    if (!onnxruntime_strips_codes(node, x.type)) return stays(out, of_other_bits(x.type));
    if (quantized) {
      if (takes_one_scale(node, *x.dequantize)) return on_codes(out, "Q/DQ on both sides go");
      if (past && graph_.producer(node.input(0)) != x.dequantize)
        return on_codes(out, "Q moves before it");
      return stays(out, {"the Q behind it has another scale or zero point than the DQ before it",
                         "give both the same scale and zero point"});
    }
    if (!past) return stays(out, no_q_behind(node));
    if (!onnxruntime_reaches_readers(graph_, codes_.uses(), node.output(0)))
      return stays(out, {"a Q and others read what it makes, so the DQ before it stays where it is",
                         "give each of its readers a Q, or none"});
    if (!codes_.has_one_scale(*x.dequantize))
      return stays(out, {"the DQ before it has several scales, so it stays where it is",
                         "quantize with one scale for the tensor"});
    return on_codes(out, "DQ moves behind it");
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
  Layer arg_max(const Node& node, Layer out) const {
    const Codes x = codes_.of_input(node.input(0));
    const bool drops =
        x.present && onnxruntime_strips_codes(node, x.type) && codes_.has_one_scale(*x.dequantize);
    if (drops && !codes_.has_zero_point(*x.dequantize))
      return stays(out, without_zero_point(*x.dequantize));
    if (drops || holds_codes(node.input(0))) return on_codes(out, "the DQ before it goes");
    out.said.why = x.present ? "its DQ has several scales, or codes of more than 8 bits"
                             : "its input does not come through DQ";
    return out;
  }

  static Unmet of_other_bits(DType codes) {
    return {fmt::format("its codes are {}: there is no such kernel", name(codes)),
            "quantize to 8 bits"};
  }

  const Graph& graph_;
  const TargetDef& target_;
  const OnnxRuntimeCodes codes_;
  const DynamicProducts dynamic_;
  bool float_bias_;                     ///< whether it turns a float bias into int32 by itself
  std::map<NodeId, const Node*> fused_; ///< activations, with what computes them
};

/// Of a node that is gone before Q/DQ are looked at.
LayerForm dropped(const Graph& graph, const Node& node) {
  LayerForm out;
  out.id = node.id;
  out.node = name_of(graph, node);
  out.op = node.op_type;
  out.form = node.is("Pad") ? "part of the layer behind it" : "gone";
  out.precision = LayerPrecision::kFused;
  out.why = node.is("Pad") ? "zeros around height and width"
                           : "hands on what comes in: dropped when the file is loaded";
  out.source = "targets 8";
  return out;
}

} // namespace

std::string operator_of(OnnxRuntimeForm form, const Node& node) {
  switch (form) {
  case Form::kAsWritten:
    return node.op_type;
  case Form::kQLinear:
    return "QLinear" + node.op_type;
  case Form::kQGemm:
    return "QGemm";
  case Form::kMatMulIntegerToFloat:
    return "MatMulIntegerToFloat";
  case Form::kDynamicQuantizeMatMul:
    return "DynamicQuantizeMatMul";
  case Form::kMatMulNBits:
    return "MatMulNBits";
  case Form::kFusedFloat:
    return "Fused" + node.op_type;
  case Form::kGone:
    break;
  }
  return {};
}

OnnxRuntimeForm onnxruntime_form(const Graph& graph, const TargetDef& target, const Node& node) {
  return OnnxRuntimeExplainer(graph, target).layer(node).form;
}

const Node*
onnxruntime_lacks_zero_point(const Graph& graph, const TargetDef& target, const Node& node) {
  return OnnxRuntimeExplainer(graph, target).layer(node).lacks_zero_point;
}

bool onnxruntime_runs_on_codes(const Graph& graph, const TargetDef& target, const Node& node) {
  return OnnxRuntimeExplainer(graph, target).layer(node).said.precision == LayerPrecision::kCodes;
}

Result<std::vector<LayerForm>> explain_onnxruntime(const Graph& graph, const TargetDef& target) {
  if (is_cuda(target)) return explain_onnxruntime_cuda(graph);
  const std::optional<Graph> prepared = onnxruntime_prepared(graph, target);
  const Graph& left = prepared ? *prepared : graph;
  OnnxRuntimeExplainer explainer(left, target);
  std::vector<LayerForm> out;
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    const Node& node = graph.node(id);
    if (is_qdq(node) || node.is("Constant")) continue;
    out.push_back(left.alive(id) ? explainer.layer(left.node(id)).said : dropped(graph, node));
  }
  return out;
}

} // namespace octet
