// SPDX-License-Identifier: Apache-2.0
//   x: A ─▶ Cast(B) ─▶ Cast(C) ─▶ y    =>    x ─▶ Cast(C) ─▶ y, or x when C is A
// Exact. Only where B holds every value of A.
#include <algorithm>
#include <array>

#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

/// A type and the types that hold all its values.
struct Widening {
  DType from;
  std::array<DType, 5> to; ///< ends in kUndefined
};
constexpr DType kNone = DType::kUndefined;
constexpr Widening kWidenings[] = {
    {DType::kInt8, {DType::kInt16, DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}},
    {DType::kUint8,
     {DType::kInt16, DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}},
    {DType::kInt16, {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64, kNone}},
    {DType::kUint16, {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64, kNone}},
    {DType::kInt32, {DType::kInt64, DType::kFloat64, kNone, kNone, kNone}},
    {DType::kUint32, {DType::kInt64, DType::kFloat64, kNone, kNone, kNone}},
    {DType::kFloat16, {DType::kFloat32, DType::kFloat64, kNone, kNone, kNone}},
    {DType::kBfloat16, {DType::kFloat32, DType::kFloat64, kNone, kNone, kNone}},
    {DType::kFloat32, {DType::kFloat64, kNone, kNone, kNone, kNone}},
};

bool holds_all(DType from, DType to) {
  if (from == DType::kBool) return is_integer(to) || is_float(to);
  for (const Widening& w : kWidenings)
    if (w.from == from) return std::find(w.to.begin(), w.to.end(), to) != w.to.end();
  return false;
}

} // namespace

std::optional<Patch> merge_casts(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Cast")) return std::nullopt;
  const Node* before = made_by(g, node.input(0), "Cast");
  if (before == nullptr) return std::nullopt;
  const ValueId x = before->input(0), y = node.output(0);
  const DType from = g.value(x).type.type;
  const DType middle = g.value(node.input(0)).type.type;
  if (from == DType::kUndefined || !holds_all(from, middle)) return std::nullopt;
  Patch patch(g, "the type between holds every value", Exactness::kExact);
  if (from == g.value(y).type.type && can_replace(g, y, x)) {
    patch.replace(y, x);
    return patch;
  }
  patch.from(*before).from(node);
  patch.replace(y, patch.emit("Cast", {x}, node.attributes, node.name));
  return patch;
}

} // namespace octet
