// SPDX-License-Identifier: Apache-2.0
//   Hardmax(x)    =>    OneHot(ArgMax(x), the size of the axis, [0, 1])
// along one axis of known size: the last one before operator set 13. Exact.
#include "passes/lower/chains.h"
#include "passes/lower/parts.h"

namespace octet::lowering {

std::optional<Patch> decompose_hardmax(const RuleContext& c, const Node& node) {
  const TypeInfo* x = node.is("Hardmax") ? float_input(c, node) : nullptr;
  if (x == nullptr) return std::nullopt;
  const bool flattens = c.graph.opset() < 13;
  int64_t axis = node.attr_int("axis", flattens ? 1 : -1);
  if (axis < 0) axis += x->rank();
  if (axis < 0 || axis >= x->rank() || (flattens && axis != x->rank() - 1)) return std::nullopt;
  const Dim& size = (*x->shape)[static_cast<size_t>(axis)];
  if (!size.is_constant() || size.value() < 1) return std::nullopt;
  Parts parts(c, node, "Hardmax is one hot");
  Attributes along, out;
  along["axis"].value = axis;
  along["keepdims"].value = int64_t{0};
  out["axis"].value = axis;
  const ValueId place = parts.op("ArgMax", {node.input(0)}, std::move(along));
  const ValueId depth = parts.integers({size.value()});
  return parts.finish(
      node, parts.op("OneHot", {place, depth, parts.numbers({0.0F, 1.0F})}, std::move(out)));
}

} // namespace octet::lowering
