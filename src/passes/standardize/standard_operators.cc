// SPDX-License-Identifier: Apache-2.0
#include "passes/standardize/standard_operators.h"

#include "graph/edit.h"

namespace octet {

namespace {

/// A rule names what it emits after its node: one without a name takes its output's, since ONNX
/// Runtime refuses two nodes of one name.
template <RuleFn* kRule>
std::optional<Patch> named(const RuleContext& context, const Node& node) {
  const bool theirs = node.domain == kMicrosoft || node.is("SimplifiedLayerNormalization");
  if (!theirs || !node.name.empty() || !node.output(0).valid()) return kRule(context, node);
  Node with_name = node;
  with_name.name = context.graph.value(node.output(0)).name;
  return kRule(context, with_name);
}

} // namespace

std::vector<Rule> standard_operator_rules() {
  return {{"decompose_qembed_layer_norm", named<decompose_qembed_layer_norm>},
          {"decompose_embed_layer_norm", named<decompose_embed_layer_norm>},
          {"decompose_skip_layer_norm", named<decompose_skip_layer_norm>},
          {"decompose_simplified_layer_norm", named<decompose_simplified_layer_norm>},
          {"decompose_attention", named<decompose_attention>},
          {"decompose_multi_head_attention", named<decompose_multi_head_attention>},
          {"decompose_rotary_embedding", named<decompose_rotary_embedding>},
          {"decompose_matmul_nbits", named<decompose_matmul_nbits>},
          {"decompose_quick_gelu", named<decompose_quick_gelu>},
          {"decompose_ordered", named<decompose_ordered>},
          {"decompose_ordered_attention", named<decompose_ordered_attention>},
          {"decompose_fused_product", named<decompose_fused_product>},
          {"decompose_gelu", named<decompose_gelu>},
          {"decompose_quant", decompose_quant},
          {"decompose_bipolar_quant", decompose_bipolar_quant},
          {"resolve_sequences", resolve_sequences}};
}

std::optional<Patch> decompose_standard(const Graph& graph, const Uses& uses, const Node& node) {
  const KnownElements elements;
  for (const Rule& rule : standard_operator_rules())
    if (auto patch = rule.apply({graph, uses, elements}, node)) return patch;
  return std::nullopt;
}

ValueId emit_ints(Patch& patch, const std::string& name, std::vector<int64_t> values) {
  return patch.constant(name, int_list(values));
}

ValueId emit_number(Patch& patch, const std::string& name, DType type, double value) {
  return patch.constant(name, Tensor::from_doubles(type, {}, std::vector<double>{value}).value());
}

ValueId
emit_unsqueeze(Patch& patch, const Graph& graph, const std::string& name, ValueId x, int64_t axis) {
  Attributes axes;
  std::vector<ValueId> inputs = {x};
  if (graph.opset() < 13)
    axes["axes"].value = std::vector<int64_t>{axis};
  else
    inputs.push_back(emit_ints(patch, name + "/axes", {axis}));
  return patch.emit("Unsqueeze", std::move(inputs), std::move(axes), name);
}

ValueId emit_size(Patch& patch, const std::string& name, ValueId x, int64_t axis) {
  const ValueId shape = patch.emit("Shape", {x}, {}, name + "/shape");
  const ValueId at = patch.constant(name + "/axis", Tensor::scalar(axis));
  return patch.emit("Gather", {shape, at}, {}, name);
}

ValueId emit_count(Patch& patch, const std::string& name, ValueId count) {
  const ValueId first = patch.constant(name + "/first", Tensor::scalar<int64_t>(0));
  const ValueId step = patch.constant(name + "/step", Tensor::scalar<int64_t>(1));
  return patch.emit("Range", {first, count, step}, {}, name);
}

ValueId emit_mean_of_last(
    Patch& patch, const Graph& graph, const std::string& name, ValueId x, int64_t rank) {
  Attributes attributes;
  attributes["keepdims"].value = int64_t{1};
  std::vector<ValueId> inputs = {x};
  if (graph.opset() < 18)
    attributes["axes"].value = std::vector<int64_t>{rank - 1};
  else
    inputs.push_back(emit_ints(patch, name + "/axes", {-1}));
  return patch.emit("ReduceMean", std::move(inputs), std::move(attributes), name);
}

ValueId emit_layer_norm(Patch& patch,
                        const Graph& graph,
                        const Node& node,
                        ValueId x,
                        ValueId gain,
                        ValueId bias,
                        int64_t rank,
                        std::optional<DType> type_of_x) {
  const double epsilon = static_cast<double>(node.attr_float("epsilon", 1e-12F));
  const std::string& name = node.name;
  if (graph.opset() >= 17) {
    Attributes attributes;
    attributes["axis"].value = int64_t{-1};
    attributes["epsilon"].value = static_cast<float>(epsilon);
    std::vector<ValueId> inputs = {x, gain};
    if (bias.valid()) inputs.push_back(bias);
    return patch.emit("LayerNormalization", std::move(inputs), std::move(attributes), name);
  }
  const DType type = type_of_x ? *type_of_x : graph.value(gain).type.type;
  const ValueId mean = emit_mean_of_last(patch, graph, name + "/mean", x, rank);
  const ValueId d = patch.emit("Sub", {x, mean}, {}, name + "/deviation");
  const ValueId square = patch.emit("Mul", {d, d}, {}, name + "/square");
  const ValueId variance = emit_mean_of_last(patch, graph, name + "/variance", square, rank);
  const ValueId plus = emit_number(patch, name + "/epsilon", type, epsilon);
  const ValueId sum = patch.emit("Add", {variance, plus}, {}, name + "/plus");
  const ValueId root = patch.emit("Sqrt", {sum}, {}, name + "/root");
  const ValueId unit = patch.emit("Div", {d, root}, {}, name + "/unit");
  const ValueId scaled = patch.emit("Mul", {unit, gain}, {}, name + "/scaled");
  return bias.valid() ? patch.emit("Add", {scaled, bias}, {}, name) : scaled;
}

} // namespace octet
