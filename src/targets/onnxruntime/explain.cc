// SPDX-License-Identifier: Apache-2.0
// What stands before all fusions, and what they share; products are in explain_products.cc, what moves
// values and what runs around Q/DQ in explain_moves.cc.
#include "core/format.h"
#include "targets/onnxruntime/explainer.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/prepared.h"

namespace octet {

namespace {

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

OnnxRuntimeLayer OnnxRuntimeExplainer::layer(const Node& node) {
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

OnnxRuntimeLayer OnnxRuntimeExplainer::runs(Layer& out, LayerPrecision precision, std::string why) {
  out.said.precision = precision;
  out.said.why = std::move(why);
  return std::move(out);
}

OnnxRuntimeLayer OnnxRuntimeExplainer::on_codes(Layer& out, std::string why) {
  return runs(out, LayerPrecision::kCodes, std::move(why));
}

OnnxRuntimeLayer OnnxRuntimeExplainer::gone(Layer& out, std::string where, std::string why) {
  out.form = Form::kGone;
  out.said.form = std::move(where);
  return runs(out, LayerPrecision::kFused, std::move(why));
}

void OnnxRuntimeExplainer::take(Layer& out, const Node& node, Form form) {
  out.form = form;
  out.said.form = operator_of(form, node);
}

OnnxRuntimeLayer
OnnxRuntimeExplainer::in_integers(Layer& out, const Node& node, Form form, std::string why) {
  take(out, node, form);
  return runs(out, LayerPrecision::kInt8, std::move(why));
}

OnnxRuntimeLayer OnnxRuntimeExplainer::integer(const Node& node, Layer out) const {
  const Form form = dynamic_.form(node);
  return in_integers(out, node, form,
                     form == Form::kAsWritten ? "an integer operator: it runs as it is"
                                              : "with Cast and the scales' Mul, as one");
}

OnnxRuntimeLayer OnnxRuntimeExplainer::of_few_bits(const Node& node, Layer out) {
  const bool integers = node.attr_int("accuracy_level", 0) == 4;
  return runs(out, integers ? LayerPrecision::kInt8 : LayerPrecision::kFloat,
              integers ? "accuracy_level 4: its input is quantized to 8 bits at every run"
                       : "its weights are stored in few bits, the product is float");
}

bool OnnxRuntimeExplainer::holds_codes(ValueId value) const {
  const DType type = value.valid() ? graph_.value(value).type.type : DType::kUndefined;
  return is_byte(type);
}

void OnnxRuntimeExplainer::take_float_form(const Node& node, Layer& out) {
  const Node* next = codes_.only_reader(node.output(0));
  const bool fuses =
      next != nullptr && (next->is("Relu") || next->is("LeakyRelu") || next->is("Sigmoid") ||
                          next->is("Tanh") || (next->is("Clip") && node.is("Conv")));
  if (!fuses || codes_.is_absorbed(*next)) return;
  fused_[next->id] = &graph_.node(node.id);
  take(out, node, Form::kFusedFloat);
}

OnnxRuntimeExplainer::Obstacle OnnxRuntimeExplainer::in_half_precision(const Node& node) const {
  const bool moves = is_movement(node) && !node.is("MaxPool") && !node.is("Resize");
  if (moves || !node.output(0).valid() || !quantizes(node)) return {};
  if (graph_.value(node.output(0)).type.type != DType::kFloat16) return {};
  for (const ValueId in : node.inputs)
    if (in.valid() && codes_.of_input(in).present)
      return Unmet{"its Q/DQ are in float16: the CPU provider runs it in float, between casts",
                   "quantize the model in float32"};
  return {};
}

OnnxRuntimeExplainer::Unmet OnnxRuntimeExplainer::not_through_dq(const Node& node,
                                                                 size_t input) const {
  return with_codes_on(node.input(input), input == 0 ? "its input does not come through DQ"
                                                     : "its second input does not come through DQ");
}

OnnxRuntimeExplainer::Unmet OnnxRuntimeExplainer::with_codes_on(ValueId value,
                                                                std::string why) const {
  const std::string& name = graph_.value(value).name;
  return {std::move(why), fmt::format("put Q/DQ on \"{}\"", name), name};
}

OnnxRuntimeExplainer::Unmet OnnxRuntimeExplainer::stays_int8(const Codes& codes) {
  KeptText kept = text_of(codes);
  return {kept.why + ": only uint8 becomes integer, and int8 that can be turned into it",
          std::move(kept.mend)};
}

OnnxRuntimeExplainer::Obstacle OnnxRuntimeExplainer::other_codes(DType in, const Output& y) const {
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

OnnxRuntimeExplainer::Unmet OnnxRuntimeExplainer::no_q_behind(const Node& node) const {
  const std::string& name = graph_.value(node.output(0)).name;
  return {"no Q follows directly", fmt::format("put Q/DQ on its output \"{}\"", name), name};
}

OnnxRuntimeLayer OnnxRuntimeExplainer::stays(Layer& out, Unmet in_the_way) {
  out.said.why = std::move(in_the_way.why);
  out.said.mend = std::move(in_the_way.mend);
  if (!in_the_way.wants_codes.empty()) out.said.wants_codes = {std::move(in_the_way.wants_codes)};
  return std::move(out);
}

bool OnnxRuntimeExplainer::is_around(const Node& node) {
  constexpr std::string_view kOps[] = {
      "AveragePool", "GlobalAveragePool", "Sigmoid", "LeakyRelu", "Softmax", "Add", "Mul", "Concat",
      "Where"};
  return node.domain.empty() &&
         std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
}

bool OnnxRuntimeExplainer::is_movement(const Node& node) {
  return onnxruntime_moves_codes_past(node) || onnxruntime_drops_codes_around(node);
}

bool OnnxRuntimeExplainer::quantizes(const Node& node) {
  return node.is("Conv") || node.is("Gemm") || node.is("MatMul") || is_around(node) ||
         is_movement(node);
}

OnnxRuntimeExplainer::Unmet OnnxRuntimeExplainer::without_zero_point(const Node& pair) const {
  return {fmt::format("{} has no zero point", label(graph_, pair)), "write its zero point"};
}

OnnxRuntimeExplainer::Unmet OnnxRuntimeExplainer::of_other_bits(DType codes) {
  return {fmt::format("its codes are {}: there is no such kernel", name(codes)),
          "quantize to 8 bits"};
}

std::string operator_of(OnnxRuntimeForm form, const Node& node) {
  switch (form) {
  case OnnxRuntimeForm::kAsWritten:
    return node.op_type;
  case OnnxRuntimeForm::kQLinear:
    return "QLinear" + node.op_type;
  case OnnxRuntimeForm::kQGemm:
    return "QGemm";
  case OnnxRuntimeForm::kMatMulIntegerToFloat:
    return "MatMulIntegerToFloat";
  case OnnxRuntimeForm::kDynamicQuantizeMatMul:
    return "DynamicQuantizeMatMul";
  case OnnxRuntimeForm::kMatMulNBits:
    return "MatMulNBits";
  case OnnxRuntimeForm::kFusedFloat:
    return "Fused" + node.op_type;
  case OnnxRuntimeForm::kGone:
    break;
  }
  return {};
}

bool is_fused_with_codes(OnnxRuntimeForm form) {
  return form == OnnxRuntimeForm::kQLinear || form == OnnxRuntimeForm::kQGemm ||
         form == OnnxRuntimeForm::kMatMulIntegerToFloat;
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
