// SPDX-License-Identifier: Apache-2.0
#include "passes/coded_operators.h"

#include <algorithm>
#include <array>

namespace octet {

bool is_qlinear(const Node& node) {
  constexpr std::array<std::string_view, 10> kOperators = {
      "QLinearAdd",     "QLinearMul",       "QLinearAveragePool", "QLinearGlobalAveragePool",
      "QLinearConcat",  "QLinearWhere",     "QLinearSigmoid",     "QLinearLeakyRelu",
      "QLinearSoftmax", "QLinearReduceMean"};
  return node.domain == kMicrosoft &&
         std::find(kOperators.begin(), kOperators.end(), node.op_type) != kOperators.end();
}

CodedInput coded_input(const Node& node, size_t first) {
  return {node.input(first), node.input(first + 1), node.input(first + 2)};
}

namespace {

/// One number for each channel: ONNX wants as many scales as zero points.
Tensor repeated(const Tensor& scale, int64_t count) {
  const std::vector<double> values(static_cast<size_t>(count), scale.at(0));
  return Tensor::from_doubles(scale.type(), {count}, values).value();
}

} // namespace

std::optional<ValueId> emit_values(Patch& patch,
                                   const Graph& graph,
                                   const CodedInput& input,
                                   int64_t axis,
                                   const std::string& name) {
  const Tensor* scale = graph.constant(input.scale);
  if (scale == nullptr) return std::nullopt;
  return emit_values(patch, graph, input, *scale, axis, name);
}

std::optional<ValueId> emit_values(Patch& patch,
                                   const Graph& graph,
                                   const CodedInput& input,
                                   const Tensor& scale,
                                   int64_t axis,
                                   const std::string& name) {
  if (scale.rank() > 1 || scale.count() == 0) return std::nullopt;
  ValueId zero = input.zero;
  int64_t zeros = 1;
  if (zero.valid()) {
    const auto shape = graph.value(zero).type.static_shape();
    if (!shape || shape->size() > 1) return std::nullopt;
    zeros = shape->empty() ? 1 : shape->front();
  }
  const int64_t count = std::max(scale.count(), zeros);
  if (zeros == 0 || (scale.count() != count && scale.count() != 1)) return std::nullopt;
  Attributes attributes;
  if (count > 1) {
    if (graph.opset() < 13 || axis < 0) return std::nullopt;
    attributes["axis"].value = axis;
  }
  if (zero.valid() && zeros != count) {
    const Tensor* one = graph.constant(zero);
    if (one == nullptr || zeros != 1) return std::nullopt;
    zero = patch.constant(name + "_zero_point", repeated(*one, count));
  }
  const bool stays = input.scale.valid() && scale.count() == count;
  const ValueId scales =
      stays ? input.scale
            : patch.constant(name + "_scale",
                             scale.count() == count ? scale : repeated(scale, count));
  std::vector<ValueId> inputs = {input.codes, scales};
  if (zero.valid()) inputs.push_back(zero);
  return patch.emit("DequantizeLinear", std::move(inputs), std::move(attributes), name);
}

void replace_by_codes(Patch& patch,
                      const Node& node,
                      ValueId y,
                      ValueId scale,
                      ValueId zero,
                      const std::string& name) {
  std::vector<ValueId> inputs = {y, scale};
  if (zero.valid()) inputs.push_back(zero);
  patch.replace(node.output(0),
                patch.emit("QuantizeLinear", std::move(inputs), {}, name + "_quantize"));
}

std::optional<Tensor>
float_bias(const Graph& graph, ValueId codes, double factor, const Tensor& scale) {
  const Tensor* b = graph.constant(codes);
  if (b == nullptr || b->type() != DType::kInt32) return std::nullopt;
  const int64_t columns = b->rank() == 0 ? 1 : b->shape().back();
  const bool vector = scale.count() > 1;
  if (vector && columns != scale.count() && columns != 1) return std::nullopt;
  std::vector<double> values;
  Shape shape = b->shape();
  if (vector && columns == 1) { // one code for all columns: as many values as scales
    if (b->count() != 1) return std::nullopt;
    shape = {scale.count()};
    for (int64_t i = 0; i < scale.count(); ++i)
      values.push_back(b->at(0) * factor * scale.at(i));
  } else {
    for (int64_t i = 0; i < b->count(); ++i)
      values.push_back(b->at(i) * factor * scale.at(vector ? i % columns : 0));
  }
  auto out = Tensor::from_doubles(DType::kFloat32, shape, values);
  return out.ok() ? std::optional(*out) : std::nullopt;
}

std::optional<Patch> decompose_coded_operator(const Graph& graph, const Node& node) {
  for (DecomposeFn* form :
       {decompose_qlinear_conv, decompose_qlinear_matmul, decompose_qgemm,
        decompose_matmul_integer_to_float, decompose_qlinear_pointwise, decompose_qlinear_pool})
    if (auto patch = form(graph, node)) return patch;
  return std::nullopt;
}

namespace {

template <DecomposeFn* kForm>
std::optional<Patch> as_rule(const RuleContext& context, const Node& node) {
  return kForm(context.graph, node);
}

} // namespace

std::vector<Rule> coded_operator_rules() {
  return {{"decompose_qlinear_conv", as_rule<decompose_qlinear_conv>},
          {"decompose_qlinear_matmul", as_rule<decompose_qlinear_matmul>},
          {"decompose_qgemm", as_rule<decompose_qgemm>},
          {"decompose_matmul_integer_to_float", as_rule<decompose_matmul_integer_to_float>},
          {"decompose_qlinear_pointwise", as_rule<decompose_qlinear_pointwise>},
          {"decompose_qlinear_pool", as_rule<decompose_qlinear_pool>}};
}

} // namespace octet
