// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Conv(W, B) ─▶ BatchNormalization(g, b, m, v) ─▶ y    =>    x ─▶ Conv(W', B') ─▶ y
//        (also ConvTranspose and Gemm)
//   a = g / sqrt(v + epsilon),  W' = a W (by output channel),  B' = a (B - m) + b
// Rounding: equal in real arithmetic; a, W' and B' are computed in double and rounded once.
// Wanted: constants throughout that nobody else uses, the product's output used only here, and
// batch norm in inference mode.
#include <cmath>

#include "passes/simplify/channel_affine.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

std::optional<ChannelAffine> affine_of(const Graph& graph, const Node& norm) {
  std::vector<std::vector<double>> p;
  for (size_t i = 1; i <= 4; ++i) {
    const Tensor* constant = graph.constant(norm.input(i));
    if (constant == nullptr) return std::nullopt;
    auto values = constant->to_doubles();
    if (!values.ok()) return std::nullopt;
    p.push_back(std::move(*values));
    if (p.back().size() != p.front().size()) return std::nullopt;
  }
  const auto epsilon = static_cast<double>(norm.attr_float("epsilon", 1e-5F));
  ChannelAffine out;
  for (size_t c = 0; c < p[0].size(); ++c) {
    const double factor = p[0][c] / std::sqrt(p[3][c] + epsilon);
    if (!std::isfinite(factor)) return std::nullopt;
    out.factor.push_back(factor);
    out.offset.push_back(p[1][c] - factor * p[2][c]);
  }
  return out;
}

bool in_inference_mode(const RuleContext& context, const Node& norm) {
  if (norm.attr_int("training_mode", 0) != 0 || norm.attr_int("spatial", 1) == 0) return false;
  for (size_t k = 1; k < norm.outputs.size(); ++k)
    if (norm.outputs[k].valid() && context.uses.count(norm.outputs[k]) > 0) return false;
  return true;
}

} // namespace

std::optional<Patch> fold_batchnorm(const RuleContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!node.is("BatchNormalization") || !in_inference_mode(context, node)) return std::nullopt;
  const Node* product = graph.producer(node.input(0));
  if (product == nullptr) return std::nullopt;
  const auto affine = affine_of(graph, node);
  if (!affine) return std::nullopt;
  return fold_affine(context, node, *product, *affine,
                     "batch norm is a factor and an offset by channel");
}

} // namespace octet
