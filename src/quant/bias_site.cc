// SPDX-License-Identifier: Apache-2.0
#include "quant/bias_site.h"

#include "core/format.h"
#include "graph/label.h"

namespace octet {

namespace {

const Tensor* vector_at(const Graph& graph, const Node& node, size_t input) {
  const Tensor* tensor = graph.constant(node.input(input));
  const bool fits = tensor != nullptr && tensor->type() == DType::kFloat32 && tensor->rank() == 1;
  return fits ? tensor : nullptr;
}

} // namespace

Result<int64_t> bias_channels(const Graph& graph, const Node& node, size_t input) {
  const bool product = node.is("Conv") || node.is("Gemm");
  if (node.is("Add") ? input > 1 : !product || input != 2)
    return error("{} has no bias at input {}", label(graph, node), input);
  if (node.is("Gemm") && node.attr_float("beta", 1.0F) != 1.0F)
    return error("{} multiplies its bias by beta", label(graph, node));
  const Tensor* bias = vector_at(graph, node, input);
  const Tensor* w = product ? graph.constant(node.input(1)) : nullptr;
  const bool weight = w != nullptr && w->rank() >= 2;
  if (bias == nullptr && (!weight || node.input(2).valid()))
    return error("{}: its bias is no constant f32 vector", label(graph, node));
  if (!weight) return bias->dim(0);
  const int64_t channels = w->dim(node.is("Gemm") && node.attr_int("transB", 0) == 0 ? 1 : 0);
  if (bias != nullptr && bias->dim(0) != channels)
    return error("{}: its bias is one number for {} outputs", label(graph, node), channels);
  return channels;
}

std::optional<BiasSite>
bias_site(const Graph& graph, const Uses& uses, const Placement& placement, const Node& product) {
  BiasSite site;
  const Node* node = &product;
  if (product.is("MatMul")) {
    const NodeId next = uses.single_consumer(product.output(0));
    if (!next.valid() || !graph.node(next).is("Add")) return std::nullopt;
    node = &graph.node(next);
    site.input = node->input(0) == product.output(0) ? 1 : 0;
    const Tensor* w = graph.constant(product.input(1));
    const Tensor* bias = vector_at(graph, *node, site.input);
    if (w == nullptr || bias == nullptr || bias->dim(0) != w->dim(w->rank() - 1))
      return std::nullopt;
  }
  const auto channels = bias_channels(graph, *node, site.input);
  if (!channels.ok()) return std::nullopt;
  // A bias that is not there has no int32 form in the plan: those runtimes would leave the layer in
  // float with one.
  const bool made = !node->input(site.input).valid();
  if (made && (!placement.float_bias || (placement.int32_gemm_bias && node->is("Gemm"))))
    return std::nullopt;
  site.node = node->id;
  site.axis = node->is("Conv") ? 1 : -1;
  site.channels = *channels;
  return site;
}

Status add_to_bias(SteppedGraph& stepped, NodeId id, size_t input, std::span<const float> delta) {
  const Graph& graph = stepped.graph();
  const Node& node = graph.node(id);
  const int64_t channels = OCTET_TRY(bias_channels(graph, node, input));
  if (std::ssize(delta) != channels)
    return error("{} numbers for the bias of {}, which has {} channels", delta.size(),
                 label(graph, node), channels);
  std::vector<float> values(static_cast<size_t>(channels));
  const Tensor* bias = vector_at(graph, node, input);
  if (bias != nullptr) values = OCTET_TRY(bias->to_floats());
  for (size_t c = 0; c < values.size(); ++c)
    values[c] += delta[c];
  const std::string name =
      bias != nullptr ? graph.value(node.input(input)).name + "_corrected" : node.name + "_bias";
  stepped.set_constant(id, input, Tensor::of<float>({channels}, std::span<const float>(values)),
                       name);
  return ok_status();
}

} // namespace octet
