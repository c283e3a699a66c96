// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Conv(W, B) ─▶ Mul(a: constant by channel) ─▶ y      =>    x ─▶ Conv(a W, a B) ─▶ y
//   x ─▶ Conv(W, B) ─▶ Add(b: constant by channel) ─▶ y      =>    x ─▶ Conv(W, B + b) ─▶ y
//        (also ConvTranspose; Add without B is fold_bias)
// What Caffe's Scale layer becomes, behind batch norm that was folded.
// Rounding: equal in real arithmetic; the new constants are computed in double and rounded once.
// Wanted: constants that nobody else uses, of no more than one number a channel, and the product's
// output used only here.
#include <cmath>

#include "passes/match.h"
#include "passes/simplify/channel_affine.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fold_scale(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool scales = node.is("Mul");
  if ((!scales && !node.is("Add")) || node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const Tensor* constant = g.constant(node.inputs[side]);
    const Node* product = g.producer(node.inputs[1 - side]);
    if (constant == nullptr || product == nullptr) continue;
    if (!product->is("Conv") && !product->is("ConvTranspose")) continue;
    if (!scales && !product->input(2).valid()) return std::nullopt;
    const TypeInfo& y = g.value(product->output(0)).type;
    if (!y.has_rank() || y.rank() < 3) return std::nullopt;
    const auto channels = (*y.shape)[1].maybe_value();
    const auto numbers = channels ? by_channel(*constant, y.rank(), *channels) : std::nullopt;
    if (!numbers) return std::nullopt;
    auto values = numbers->to_doubles();
    if (!values.ok()) return std::nullopt;
    for (const double v : *values)
      if (!std::isfinite(v)) return std::nullopt;
    const std::vector<double> neutral(values->size(), scales ? 0.0 : 1.0);
    ChannelAffine affine{neutral, neutral};
    (scales ? affine.factor : affine.offset) = std::move(*values);
    return fold_affine(context, node, *product, affine,
                       scales ? "the factor is one of the weights"
                              : "the sum is one with the bias");
  }
  return std::nullopt;
}

} // namespace octet
