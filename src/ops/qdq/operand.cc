// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/operand.h"

#include <algorithm>
#include <vector>

namespace octet::qdq {

Operand operand_at(const Node& node, size_t first) {
  return {node.input(first), node.input(first + 1), node.input(first + 2)};
}

const Tensor* scales_of(const Graph& graph, const Operand& operand) {
  return graph.constant(operand.scale);
}

std::optional<double> one_scale(const Graph& graph, const Operand& operand) {
  const Tensor* scale = scales_of(graph, operand);
  return scale != nullptr && scale->count() == 1 ? std::optional(scale->at(0)) : std::nullopt;
}

namespace {

/// One number for each channel: ONNX wants as many scales as zero points.
Tensor repeated(const Tensor& scale, int64_t count) {
  const std::vector<double> values(static_cast<size_t>(count), scale.at(0));
  return Tensor::from_doubles(scale.type(), {count}, values).value();
}

} // namespace

std::optional<ValueId> emit_operand(
    Patch& patch, const Graph& graph, const Operand& input, int64_t axis, const std::string& name) {
  const Tensor* scale = scales_of(graph, input);
  if (scale == nullptr) return std::nullopt;
  return emit_operand(patch, graph, input, *scale, axis, name);
}

std::optional<ValueId> emit_operand(Patch& patch,
                                    const Graph& graph,
                                    const Operand& input,
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

} // namespace octet::qdq
