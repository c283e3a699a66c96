// SPDX-License-Identifier: Apache-2.0
#include "targets/repair/qoperator.h"

#include <algorithm>

namespace octet {

CodedInput coded_input(const Node& node, size_t first) {
  return {node.input(first), node.input(first + 1), node.input(first + 2)};
}

std::optional<ValueId> emit_values(Patch& patch,
                                   const RepairContext& context,
                                   const CodedInput& input,
                                   int64_t axis,
                                   const std::string& name) {
  const Tensor* scale = context.graph.constant(input.scale);
  if (scale == nullptr || scale->rank() > 1 || scale->count() == 0) return std::nullopt;
  Attributes attributes;
  if (scale->count() > 1) {
    if (context.graph.opset() < 13) return std::nullopt;
    attributes["axis"].value = axis;
  }
  std::vector<ValueId> inputs = {input.codes, input.scale};
  if (input.zero.valid()) inputs.push_back(input.zero);
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

std::optional<double>
product_rounding(const Graph& graph, ValueId b, int64_t axis, std::optional<double> scales) {
  const auto shape = graph.value(b).type.static_shape();
  if (!shape || !scales || -axis > static_cast<int64_t>(shape->size())) return std::nullopt;
  const auto k = static_cast<double>((*shape)[shape->size() - static_cast<size_t>(-axis)]);
  return (k + 2) * 0x1p-24 * k * 255 * 255 * *scales;
}

std::optional<double> one_step(const Graph& graph, ValueId scale) {
  const Tensor* s = graph.constant(scale);
  if (s == nullptr || s->count() == 0) return std::nullopt;
  double largest = 0;
  for (int64_t i = 0; i < s->count(); ++i)
    largest = std::max(largest, s->at(i));
  return largest;
}

} // namespace octet
