// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/channel_constants.h"

#include "quant/channels.h"

namespace octet {

namespace {

Tensor scaled(const Tensor& tensor, int64_t axis, std::span<const double> factors) {
  std::vector<float> values = tensor.to_floats().value();
  const Layout layout = layout_of(tensor, axis);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto c = static_cast<size_t>(static_cast<int64_t>(i) / layout.inner % layout.channels);
    values[i] = static_cast<float>(static_cast<double>(values[i]) * factors[c]);
  }
  return Tensor::of<float>(tensor.shape(), std::span<const float>(values));
}

} // namespace

const Tensor* f32_constant(const Graph& graph, const Node& node, size_t input) {
  const Tensor* tensor = graph.constant(node.input(input));
  return tensor != nullptr && tensor->type() == DType::kFloat32 ? tensor : nullptr;
}

int64_t channel_axis(const Node& product) {
  return product.is("Conv") ? 1 : -1;
}

int64_t output_axis(const Node& product, int64_t input_axis) {
  return product.is("Conv") ? 0 : 1 - input_axis;
}

std::optional<ChannelConstant> input_weights(const Graph& graph, const Node& product) {
  const Tensor* w = f32_constant(graph, product, 1);
  if (w == nullptr) return std::nullopt;
  if (product.is("MatMul") && w->rank() == 2) return ChannelConstant{product.id, 1, 0};
  if (product.is("Gemm") && w->rank() == 2 && product.attr_int("transA", 0) == 0)
    return ChannelConstant{product.id, 1, product.attr_int("transB", 0) != 0 ? 1 : 0};
  if (!product.is("Conv") || w->rank() < 3) return std::nullopt;
  const int64_t group = product.attr_int("group", 1);
  if (group == 1) return ChannelConstant{product.id, 1, 1};
  const bool depthwise = group == w->dim(0) && w->dim(1) == 1;
  return depthwise ? std::optional(ChannelConstant{product.id, 1, 0}) : std::nullopt;
}

std::vector<ChannelConstant>
output_constants(const Graph& graph, const Node& product, int64_t channels) {
  ChannelConstant main{product.id, 1, 0};
  if (product.is("Gemm"))
    main.axis = product.attr_int("transB", 0) != 0 ? 0 : 1;
  else if (product.is("MatMul"))
    main.axis = 1;
  else if (!product.is("Conv"))
    return {};
  const Tensor* w = f32_constant(graph, product, 1);
  if (w == nullptr || (product.is("Conv") ? w->rank() < 2 : w->rank() != 2) ||
      w->dim(main.axis) != channels)
    return {};
  std::vector<ChannelConstant> out = {main};
  if (product.is("MatMul") || !product.input(2).valid()) return out;
  const Tensor* bias = f32_constant(graph, product, 2);
  if (bias == nullptr || bias->rank() != 1 || bias->dim(0) != channels) return {};
  out.push_back({product.id, 2, 0});
  return out;
}

void multiply(SteppedGraph& stepped,
              const ChannelConstant& at,
              std::span<const double> factors,
              const std::string& suffix) {
  const Graph& graph = stepped.graph();
  const ValueId old = graph.node(at.node).input(at.input);
  stepped.set_constant(at.node, at.input, scaled(*graph.constant(old), at.axis, factors),
                       graph.value(old).name + suffix);
}

} // namespace octet
