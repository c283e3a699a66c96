// SPDX-License-Identifier: Apache-2.0
//   LRN(x)    =>    x / (bias + alpha AveragePool(x x))^beta
// pooled over the channels around, padding counted, of x x as one plane of channels and places.
// Powers of 1/2 and 3/4 are roots, others by Exp and Log. Rounding: equal in real arithmetic.
#include <cmath>

#include "passes/lower/chains.h"
#include "passes/lower/parts.h"

namespace octet::lowering {
namespace {

/// x over v to the power of beta, for v above 0.
ValueId divided(Parts& parts, ValueId x, ValueId v, double beta) {
  if (beta == 1) return parts.op("Div", {x, v});
  if (beta == 0.5) return parts.op("Div", {x, parts.op("Sqrt", {v})});
  if (beta == 0.75) {
    const ValueId root = parts.op("Sqrt", {v});
    return parts.op("Div", {x, parts.op("Mul", {root, parts.op("Sqrt", {root})})});
  }
  const ValueId exponent = parts.op("Mul", {parts.op("Log", {v}), parts.number(-beta)});
  return parts.op("Mul", {x, parts.op("Exp", {exponent})});
}

} // namespace

std::optional<Patch> decompose_lrn(const RuleContext& c, const Node& node) {
  const TypeInfo* x = node.is("LRN") ? float_input(c, node) : nullptr;
  if (x == nullptr || x->rank() < 3) return std::nullopt;
  const auto channels = (*x->shape)[1].maybe_value();
  const int64_t size = node.attr_int("size", 0);
  const auto alpha = static_cast<double>(node.attr_float("alpha", 1e-4F));
  const auto beta = static_cast<double>(node.attr_float("beta", 0.75F));
  const auto bias = static_cast<double>(node.attr_float("bias", 1));
  constexpr int64_t kLargest = 1 << 20; // windows beyond it are nobody's
  if (!channels || *channels < 1 || size < 1 || size > kLargest || !(bias > 0) || !(alpha >= 0))
    return std::nullopt;
  // Back by what the shape says; one size may be open.
  std::vector<int64_t> back = {0};
  int64_t open = 0;
  for (size_t k = 1; k < x->shape->size(); ++k) {
    const auto d = (*x->shape)[k].maybe_value();
    if (d == 0) return std::nullopt;
    open += d ? 0 : 1;
    back.push_back(d.value_or(-1));
  }
  if (open > 1) return std::nullopt;
  Parts parts(c, node, "LRN pools squares over channels");
  const ValueId in = node.input(0);
  const ValueId plane = parts.reshaped(parts.op("Mul", {in, in}), {0, 1, *channels, -1});
  Attributes window;
  window["kernel_shape"].value = std::vector<int64_t>{size, 1};
  window["pads"].value = std::vector<int64_t>{(size - 1) / 2, 0, size / 2, 0};
  window["count_include_pad"].value = int64_t{1};
  const ValueId pooled = parts.reshaped(parts.op("AveragePool", {plane}, std::move(window)), back);
  const ValueId sum =
      parts.op("Add", {parts.op("Mul", {pooled, parts.number(alpha)}), parts.number(bias)});
  return parts.finish(node, divided(parts, in, sum, beta));
}

} // namespace octet::lowering
