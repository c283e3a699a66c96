// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Conv(W, B) ─▶ BatchNormalization(g, b, m, v) ─▶ y    =>    x ─▶ Conv(W', B') ─▶ y
//        (also ConvTranspose and Gemm)
//   a = g / sqrt(v + epsilon),  W' = a W (by output channel),  B' = a (B - m) + b
// Rounding: equal in real arithmetic; a, W' and B' are computed in double and rounded once.
// Wanted: constants throughout that nobody else uses, the product's output used only here, and
// batch norm in inference mode.
#include "passes/simplify/channel_affine.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fold_batchnorm(const RuleContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!node.is("BatchNormalization")) return std::nullopt;
  const Node* product = graph.producer(node.input(0));
  if (product == nullptr) return std::nullopt;
  const auto affine = affine_of_norm(context, node);
  if (!affine) return std::nullopt;
  return fold_affine(context, node, *product, *affine,
                     "batch norm is a factor and an offset by channel");
}

} // namespace octet
