// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Pad(0 around height and width) ─▶ Conv(pads: p) ─▶ y
//                                                      =>    x ─▶ Conv(pads: p + pad) ─▶ y
// Also AveragePool, which then counts what is padded.
// Exact. Wanted: constant pads that are nowhere negative nor on batch or channels, padded with 0.
#include <algorithm>

#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

/// Pads of the spatial axes as Conv has them: all begins, then all ends.
std::optional<std::vector<int64_t>> spatial_pads(const RuleContext& context, const Node& pad) {
  const Graph& g = context.graph;
  if (pad.attr_string("mode", "constant") != "constant" || pad.input(3).valid())
    return std::nullopt;
  if (pad.attr_float("value", 0) != 0) return std::nullopt;
  if (pad.input(2).valid()) {
    const Tensor* value = g.constant(pad.input(2));
    if (value == nullptr || value->count() != 1 || value->at(0) != 0) return std::nullopt;
  }
  const auto all = ints_of(context, pad, "pads", 1);
  if (!all || all->size() < 6 || all->size() % 2 != 0) return std::nullopt;
  if (std::any_of(all->begin(), all->end(), [](int64_t p) { return p < 0; })) return std::nullopt;
  const size_t rank = all->size() / 2;
  std::vector<int64_t> out;
  for (size_t i = 0; i < all->size(); ++i) {
    if (i % rank >= 2)
      out.push_back((*all)[i]);
    else if ((*all)[i] != 0)
      return std::nullopt;
  }
  return out;
}

} // namespace

std::optional<Patch> fold_pad(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool pool = node.is("AveragePool");
  if (!node.is("Conv") && !pool) return std::nullopt;
  const Node* pad = made_by(g, node.input(0), "Pad");
  if (pad == nullptr || node.attr_string("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  auto pads = spatial_pads(context, *pad);
  if (!pads) return std::nullopt;
  const std::vector<int64_t> own = node.attr_ints("pads");
  const bool has_own = std::any_of(own.begin(), own.end(), [](int64_t p) { return p != 0; });
  if (!own.empty() && own.size() != pads->size()) return std::nullopt;
  if (pool && (node.attr_int("ceil_mode", 0) != 0 ||
               (has_own && node.attr_int("count_include_pad", 0) == 0)))
    return std::nullopt;
  for (size_t i = 0; i < own.size(); ++i)
    (*pads)[i] += own[i];
  if (pool) {
    const std::vector<int64_t> kernel = node.attr_ints("kernel_shape");
    for (size_t i = 0; i < pads->size(); ++i)
      if (kernel.empty() || (*pads)[i] >= kernel[i % kernel.size()]) return std::nullopt;
  }
  Patch patch(g, "the product pads with zeros by itself", Exactness::kExact);
  patch.from(*pad).from(node);
  Attributes attributes = node.attributes;
  attributes["pads"].value = std::move(*pads);
  if (pool) attributes["count_include_pad"].value = int64_t{1};
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pad->input(0);
  patch.replace(node.output(0),
                patch.emit(node.op_type, std::move(inputs), std::move(attributes), node.name));
  return patch;
}

} // namespace octet
