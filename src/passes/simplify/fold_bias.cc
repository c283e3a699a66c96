// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Conv(W) ─▶ Add(constant by channel) ─▶ y           =>    x ─▶ Conv(W, B) ─▶ y
//        (also ConvTranspose)
//   x: [M, K] ─▶ MatMul(W: [K, N]) ─▶ Add(constant: [N]) ─▶ y    =>    x ─▶ Gemm(W, B) ─▶ y
// Rounding: the bias takes part in the accumulation. Wanted: nobody else reads the product.
#include "passes/match.h"
#include "passes/simplify/channel_affine.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

std::optional<Patch>
into_conv(const RuleContext& context, const Node& add, const Node& conv, ValueId constant) {
  const Graph& g = context.graph;
  const TypeInfo& y = g.value(conv.output(0)).type;
  if (conv.input(2).valid() || !y.has_rank() || y.rank() < 3) return std::nullopt;
  const auto channels = (*y.shape)[1].maybe_value();
  if (!channels) return std::nullopt;
  auto bias = by_channel(*g.constant(constant), y.rank(), *channels);
  if (!bias) return std::nullopt;
  Patch patch(g, "the sum is the bias of the product", Exactness::kRounding);
  patch.from(conv).from(add);
  const bool own = context.uses.count(constant) == 1 && bias->count() > 1;
  const ValueId b =
      patch.constant(own ? g.value(constant).name : conv.name + ".bias", std::move(*bias));
  patch.replace(add.output(0), patch.emit(conv.op_type, {conv.input(0), conv.input(1), b},
                                          conv.attributes, conv.name));
  if (own) patch.replace(constant, b);
  return patch;
}

std::optional<Patch>
into_gemm(const RuleContext& context, const Node& add, const Node& product, ValueId constant) {
  const Graph& g = context.graph;
  const TypeInfo& x = g.value(product.input(0)).type;
  const TypeInfo& w = g.value(product.input(1)).type;
  const Tensor& bias = *g.constant(constant);
  if (g.constant(product.input(1)) == nullptr || g.opset() < 7) return std::nullopt;
  if (!x.has_rank() || x.rank() != 2 || !w.has_rank() || w.rank() != 2 || !is_float(w.type))
    return std::nullopt;
  const auto n = (*w.shape)[1].maybe_value();
  if (!n || bias.rank() != 1 || bias.count() != *n) return std::nullopt;
  Patch patch(g, "the sum is the bias of the product", Exactness::kRounding);
  patch.from(product).from(add);
  patch.replace(add.output(0), patch.emit("Gemm", {product.input(0), product.input(1), constant},
                                          {}, product.name));
  return patch;
}

} // namespace

std::optional<Patch> fold_bias(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Add") || node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const ValueId constant = node.inputs[side], y = node.inputs[1 - side];
    if (g.constant(constant) == nullptr) continue;
    const Node* product = y.valid() ? g.producer(y) : nullptr;
    if (product == nullptr || context.uses.single_consumer(y) != node.id) continue;
    if (product->is("Conv") || product->is("ConvTranspose"))
      return into_conv(context, node, *product, constant);
    if (product->is("MatMul")) return into_gemm(context, node, *product, constant);
  }
  return std::nullopt;
}

} // namespace octet
