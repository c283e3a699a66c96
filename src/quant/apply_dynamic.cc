// SPDX-License-Identifier: Apache-2.0
//   Gemm(x, w, b), MatMul(x, w), Conv(x, w, b)
// ONNX form (runs in ONNX Runtime), one DynamicQuantizeLinear for each x:
//   x ─▶ DynamicQuantizeLinear ─▶ q, s, z
//   MatMulInteger(q, w8, z) ─▶ Cast(f32) ─▶ Mul(s * w_scale) ─▶ Add(b)      ConvInteger alike
// octet's form, each row by itself:
//   octet.native.QDynamicGemm(x, w8 [N, K], w_scale, b)
// LSTM: quant/dynamic_lstm.h, in both.
#include <cmath>
#include <map>

#include "core/format.h"
#include "graph/domains.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "quant/apply.h"
#include "quant/dynamic_lstm.h"
#include "quant/qdq_writer.h"

namespace octet {

namespace {

class DynamicWriter {
 public:
  DynamicWriter(Graph& graph, const QuantizationPlan& plan, const Placement& placement)
      : graph_(graph), plan_(plan), placement_(placement), index_(graph, plan), uses_(graph),
        writer_(graph) {}

  Status run() {
    for (const NodePlan& node_plan : plan_.nodes) {
      if (!node_plan.quantized || !node_plan.weight || node_plan.rule != Placed::kDynamic) continue;
      if (placement_.dynamic == DynamicForm::kNone)
        return error("target {} has no dynamic quantization (targets 1.3)", placement_.target);
      const NodeId id = OCTET_TRY(index_.node(node_plan));
      if (is_dynamic_lstm(node_plan)) {
        OCTET_TRY_WITH(write_dynamic_lstm(graph_, uses_, made_, index_, id),
                       fmt::format("node {}", label(graph_, graph_.node(id))));
        continue;
      }
      if (*node_plan.weight != 1)
        return error("plan: {} has its weight at input 1, not {}", label(graph_, graph_.node(id)),
                     *node_plan.weight);
      OCTET_TRY_WITH(write(id), fmt::format("node {}", label(graph_, graph_.node(id))));
    }
    return ok_status();
  }

 private:
  /// What a layer is, whatever operator it was.
  struct Layer {
    Node node;
    Tensor codes; ///< int8, the layout that the form wants
    std::vector<float> scales;
    ValueId bias; ///< may be invalid
  };

  Status write(NodeId id) {
    Layer layer;
    layer.node = graph_.node(id);
    const Node& node = layer.node;
    const TensorPlan* tensor = OCTET_TRY(index_.tensor(node.input(1), node));
    if (!tensor->scheme.symmetric || tensor->scheme.type != DType::kInt8 || tensor->block > 0)
      return error("plan: dynamic layers take symmetric int8 weights without blocks, not {}",
                   scheme_text(tensor->scheme));
    const Tensor* w = graph_.constant(node.input(1));
    const bool product = node.is("Gemm") || node.is("MatMul");
    if (w == nullptr || !(product ? w->rank() == 2 : node.is("Conv") && w->rank() > 2))
      return error("plan: it has no dynamic form; use the rule weight-only");
    layer.codes = OCTET_TRY(weight_codes(*w, *tensor));
    const bool gemm = node.is("Gemm");
    const float alpha = gemm ? node.attr_float("alpha", 1.0F) : 1.0F;
    for (const QuantParameters& p : parameters_for(tensor->scheme, tensor->ranges))
      layer.scales.push_back(p.scale * alpha);
    const bool k_first = !(gemm && node.attr_int("transB", 0) != 0);
    const bool wants_k_first = placement_.dynamic == DynamicForm::kOnnx;
    if (product && k_first != wants_k_first) layer.codes = transposed(layer.codes);
    layer.codes = OCTET_TRY(made_.keep(layer.codes));
    const NodeId first_new{graph_.node_bound()};
    layer.bias = scaled_bias(node);
    ValueId y;
    if (node.is("Conv"))
      y = convolution(layer);
    else if (placement_.dynamic == DynamicForm::kOnnx)
      y = onnx_product(layer);
    else
      y = octet_product(layer);
    uses_.add_from(graph_, first_new);
    replace_node(graph_, uses_, id, y);
    return ok_status();
  }

  ValueId emit(const char* op,
               std::vector<ValueId> inputs,
               const std::string& name,
               Attributes attributes = {}) {
    return graph_.emit(op, std::move(inputs), std::move(attributes), graph_.unique_name(name));
  }

  /// Gemm's beta times its third input.
  ValueId scaled_bias(const Node& node) {
    const ValueId bias = node.input(2);
    const float beta = node.is("Gemm") ? node.attr_float("beta", 1.0F) : 1.0F;
    if (!bias.valid() || beta == 1.0F) return bias;
    return emit("Mul", {bias, writer_.constant("beta", Tensor::scalar(beta))}, node.name + "_bias");
  }

  struct Dynamic {
    ValueId codes, scale, zero_point;
  };
  Dynamic quantized_input(ValueId x) {
    const auto found = inputs_.find(x);
    if (found != inputs_.end()) return found->second;
    const std::string name = graph_.unique_name(graph_.value(x).name + "_quantized");
    const ValueId first = graph_.emit("DynamicQuantizeLinear", {x}, {}, name, {}, 3);
    const Node& made = *graph_.producer(first);
    const Dynamic out{made.outputs[0], made.outputs[1], made.outputs[2]};
    inputs_.emplace(x, out);
    return out;
  }

  ValueId scale_constant(const Layer& layer, size_t trailing) {
    Shape shape;
    if (layer.scales.size() > 1) {
      shape = {static_cast<int64_t>(layer.scales.size())};
      shape.resize(1 + trailing, 1);
    }
    return writer_.constant(graph_.value(layer.node.input(1)).name + "_scale",
                            Tensor::of<float>(shape, std::span<const float>(layer.scales)));
  }

  /// acc (int32) ─▶ float result with bias.
  ValueId rescale(const Layer& layer, ValueId acc, ValueId x_scale, ValueId w_scale, ValueId bias) {
    const std::string& name = layer.node.name;
    Attributes to_float;
    to_float["to"].value = static_cast<int64_t>(DType::kFloat32);
    const ValueId real = emit("Cast", {acc}, name + "_sum", to_float);
    const ValueId scale = emit("Mul", {x_scale, w_scale}, name + "_scale");
    const ValueId scaled = emit("Mul", {real, scale}, name + "_scaled");
    return bias.valid() ? emit("Add", {scaled, bias}, name + "_biased") : scaled;
  }

  /// Other readers of the weight may have codes of it already.
  std::string coded_name(const Layer& layer) const {
    return graph_.unique_name(graph_.value(layer.node.input(1)).name + "_quantized");
  }

  ValueId onnx_product(const Layer& layer) {
    const Dynamic x = quantized_input(layer.node.input(0));
    const ValueId w = graph_.add_constant(coded_name(layer), layer.codes);
    const ValueId acc =
        emit("MatMulInteger", {x.codes, w, x.zero_point}, layer.node.name + "_integer");
    return rescale(layer, acc, x.scale, scale_constant(layer, 0), layer.bias);
  }

  ValueId octet_product(const Layer& layer) {
    graph_.opsets[kNative] = 1;
    const Tensor& codes = layer.codes;
    const ValueId w = graph_.add_constant(coded_name(layer), codes);
    std::vector<float> scales = layer.scales;
    const ValueId s = writer_.constant(
        graph_.value(layer.node.input(1)).name + "_scale",
        Tensor::of<float>({static_cast<int64_t>(scales.size())}, std::span<const float>(scales)));
    const Tensor* bias = graph_.constant(layer.bias);
    const bool inside = bias != nullptr && bias->rank() == 1 && bias->count() == codes.dim(0);
    std::vector<ValueId> inputs = {layer.node.input(0), w, s};
    if (inside) inputs.push_back(layer.bias);
    const ValueId y = graph_.emit("QDynamicGemm", std::move(inputs), {},
                                  graph_.unique_name(layer.node.name), kNative);
    if (inside || !layer.bias.valid()) return y;
    return emit("Add", {y, layer.bias}, layer.node.name + "_biased");
  }

  ValueId convolution(const Layer& layer) {
    const Dynamic x = quantized_input(layer.node.input(0));
    // ONNX Runtime's ConvInteger takes uint8 weights only: the same codes around 128.
    const std::vector<double> codes = layer.codes.to_doubles().value();
    std::vector<double> shifted(codes.size());
    for (size_t i = 0; i < codes.size(); ++i)
      shifted[i] = codes[i] + 128;
    const ValueId w = graph_.add_constant(
        coded_name(layer),
        Tensor::from_doubles(DType::kUint8, layer.codes.shape(), shifted).value());
    const ValueId z = writer_.constant("zero_point", Tensor::scalar<uint8_t>(128));
    const ValueId acc = emit("ConvInteger", {x.codes, w, x.zero_point, z},
                             layer.node.name + "_integer", layer.node.attributes);
    const auto spatial = static_cast<size_t>(layer.codes.rank() - 2);
    ValueId bias = layer.bias;
    if (const Tensor* constant = graph_.constant(bias)) {
      Shape shape = {layer.codes.dim(0)};
      shape.resize(1 + spatial, 1);
      bias = graph_.add_constant(graph_.value(bias).name, constant->reshaped(shape).value());
    } else if (bias.valid()) {
      std::vector<int64_t> axes;
      for (size_t d = 0; d < spatial; ++d)
        axes.push_back(static_cast<int64_t>(d) + 1);
      bias = emit("Unsqueeze", {bias, writer_.constant("axes", int_list(axes))},
                  layer.node.name + "_bias");
    }
    return rescale(layer, acc, x.scale, scale_constant(layer, spatial), bias);
  }

  Graph& graph_;
  const QuantizationPlan& plan_;
  const Placement& placement_;
  PlanIndex index_;
  LiveUses uses_;
  QdqWriter writer_;
  MadeTensors made_;
  std::map<ValueId, Dynamic> inputs_;
};

} // namespace

Status apply_dynamic(Graph& graph, const QuantizationPlan& plan, const Placement& placement) {
  return DynamicWriter(graph, plan, placement).run();
}

} // namespace octet
