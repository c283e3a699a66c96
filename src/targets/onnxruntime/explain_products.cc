// SPDX-License-Identifier: Apache-2.0
// Conv, Gemm and MatMul.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/qdq/bias.h"
#include "targets/onnxruntime/explainer.h"
#include "targets/onnxruntime/load.h"

namespace octet {

namespace {

constexpr const char* kOwnWeight =
    "Q/DQ on input and output: it quantizes the float weight by itself when it loads the file";
constexpr const char* kBiasMend = "store the bias as int32 at that scale, or in float";
/// How far a bias' scale may be off: measured.
constexpr double kScaleSlack = 1e-6, kRelativeSlack = 0.01;
constexpr const char* kLowestIsZero =
    "quantize behind the Relu with the lowest code at 0 (int8 zero point -128, or uint8 with 0)";

} // namespace

OnnxRuntimeExplainer::Obstacle OnnxRuntimeExplainer::float_inputs(const Node& node) const {
  for (size_t i = 0; i < 2; ++i)
    if (!codes_.of_input(node.input(i)).present) return not_through_dq(node, i);
  const DType weight = codes_.of_input(node.input(1)).type;
  if (!are_fused(weight)) return of_other_bits(weight);
  return {};
}

OnnxRuntimeExplainer::Obstacle OnnxRuntimeExplainer::int8_input(const Node& node) const {
  const Codes x = codes_.of_input(node.input(0));
  if (x.type == DType::kUint8 || onnxruntime_takes_for_bytes(x.type)) return {};
  // Of Conv it does not know those of 4 bits either.
  if (node.is("Conv") && (x.type == DType::kInt4 || x.type == DType::kUint4)) return {};
  return stays_int8(x);
}

bool OnnxRuntimeExplainer::are_fused(DType codes) {
  return is_byte(codes) || onnxruntime_takes_for_bytes(codes);
}

bool OnnxRuntimeExplainer::gets_a_coded_weight(const Node& node) const {
  const Codes x = codes_.of_input(node.input(0));
  return x.present && are_fused(x.type) &&
         onnxruntime_rounds_weight(graph_, codes_.uses(), target_, node);
}

OnnxRuntimeLayer OnnxRuntimeExplainer::conv(const Node& node, Layer out) {
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

OnnxRuntimeLayer OnnxRuntimeExplainer::gemm(const Node& node, Layer out) {
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

const Node* OnnxRuntimeExplainer::lacking_zero_point(const Node& node) const {
  if (target_.version < kGemmZeroPointSince) return nullptr;
  for (size_t i = 0; i < 2; ++i)
    if (const Codes codes = codes_.of_input(node.input(i));
        codes.present && !codes_.has_zero_point(*codes.dequantize))
      return codes.dequantize;
  return nullptr;
}

OnnxRuntimeLayer OnnxRuntimeExplainer::as_gemm(const Node& node, const Node& add, Layer out) {
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

DType OnnxRuntimeExplainer::weight_type(const Node& node) const {
  const Codes w = codes_.of_input(node.input(1));
  return codes_.is_stored(node.input(1)) ? graph_.value(w.dequantize->input(0)).type.type : w.type;
}

OnnxRuntimeExplainer::Obstacle OnnxRuntimeExplainer::several_scales(const Node& node) const {
  if (codes_.has_one_scale(*codes_.of_input(node.input(0)).dequantize)) return {};
  return Unmet{"its input has several scales", "quantize with one scale for the tensor"};
}

OnnxRuntimeExplainer::Obstacle OnnxRuntimeExplainer::odd_scales(const Node& node) const {
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

bool OnnxRuntimeExplainer::has_a_scale_for_each(const Node& node, int64_t columns) const {
  const qdq::Written w = qdq::written(graph_, *codes_.of_input(node.input(1)).dequantize);
  const auto shape = graph_.value(node.input(1)).type.static_shape();
  return w.scales != nullptr && w.block == 0 && shape && shape->size() == 2 &&
         w.scales->count() == (*shape)[static_cast<size_t>(columns)];
}

OnnxRuntimeExplainer::Obstacle OnnxRuntimeExplainer::odd_bias(const Node& node) const {
  const Codes bias = codes_.of_input(node.input(2));
  if (!bias.present) return {};
  if (bias.type != DType::kInt32) return Unmet{"its bias has codes that are not int32", kBiasMend};
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

bool OnnxRuntimeExplainer::is_plain_gemm(const Node& node) {
  return node.attr_float("alpha", 1) == 1 && node.attr_float("beta", 1) == 1;
}

bool OnnxRuntimeExplainer::has_float_bias(const Node& node) const {
  return node.input(2).valid() && !codes_.of_input(node.input(2)).present;
}

OnnxRuntimeExplainer::Unmet OnnxRuntimeExplainer::old_float_bias() {
  return {"a float bias keeps it in float before release 1.21",
          "store the bias as int32 behind DQ: octet quantize --target does"};
}

bool OnnxRuntimeExplainer::next_turns(const Node& node) const {
  const Node* next = codes_.only_reader(node.output(0));
  if (next == nullptr || !next->is("Transpose")) return false;
  const std::vector<int64_t> perm = next->attr_ints("perm");
  return perm.empty() || perm == std::vector<int64_t>{1, 0};
}

bool OnnxRuntimeExplainer::next_is_clamp(const Node& node) const {
  const Node* next = codes_.only_reader(node.output(0));
  return next != nullptr && next->is("Relu");
}

bool OnnxRuntimeExplainer::has_plain_operands(const Node& node) const {
  const TypeInfo* bias = node.input(2).valid() ? &graph_.value(node.input(2)).type : nullptr;
  return node.attr_float("alpha", 1) == 1 && node.attr_int("transA", 0) == 0 &&
         node.attr_int("transB", 0) == 0 &&
         (bias == nullptr || (is_plain_gemm(node) && bias->has_rank() && bias->rank() == 1));
}

bool OnnxRuntimeExplainer::has_stored_weight_alone(const Node& node) const {
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

OnnxRuntimeLayer OnnxRuntimeExplainer::matmul(const Node& node, Layer out) {
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

} // namespace octet
