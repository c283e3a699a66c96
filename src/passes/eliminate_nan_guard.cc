// SPDX-License-Identifier: Apache-2.0
//   p = Softmax(Add(MatMul, mask)),  Where(IsNaN(p), 0, p) ─▶ y      =>      p
// Scaled dot product attention as torch exports it. Softmax gives NaN where every score of a row is
// -inf, so the guard may only go when the mask leaves each row a finite score: there is no mask,
// the mask is a constant with a finite number in every row, or it is made of finite numbers. Exact
// then for every finite product.
#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/match.h"
#include "passes/rules.h"

namespace octet {

namespace {

/// Numbers between which every element of a mask lies.
struct Interval {
  double low = 0, high = 0;
};

std::optional<Interval> interval_of(const Graph& g, ValueId id, int depth = 0);

std::optional<Interval> of_constant(const Tensor& t) {
  auto values = t.to_doubles();
  if (!values.ok() || values->empty()) return std::nullopt;
  if (!std::all_of(values->begin(), values->end(), [](double v) { return std::isfinite(v); }))
    return std::nullopt;
  const auto [low, high] = std::minmax_element(values->begin(), values->end());
  return Interval{*low, *high};
}

std::optional<Interval> of_pair(const Graph& g, const Node& node, int depth) {
  const auto a = interval_of(g, node.inputs[0], depth + 1);
  const auto b = interval_of(g, node.inputs[1], depth + 1);
  if (!a || !b) return std::nullopt;
  if (node.is("Add")) return Interval{a->low + b->low, a->high + b->high};
  if (node.is("Sub")) return Interval{a->low - b->high, a->high - b->low};
  if (!node.is("Mul")) return std::nullopt;
  const auto [low, high] =
      std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
  return Interval{low, high};
}

/// nullopt when an element may be infinite or NaN in float32.
std::optional<Interval> interval_of(const Graph& g, ValueId id, int depth) {
  if (const Tensor* t = g.constant(id)) return of_constant(*t);
  const Node* node = g.producer(id);
  if (node == nullptr || !node->domain.empty() || depth > 12) return std::nullopt;
  std::optional<Interval> out;
  if (node->is("Where")) {
    const auto a = interval_of(g, node->inputs[1], depth + 1);
    const auto b = interval_of(g, node->inputs[2], depth + 1);
    if (a && b) out = Interval{std::min(a->low, b->low), std::max(a->high, b->high)};
  } else if (node->is("Cast")) {
    out = g.value(node->input(0)).type.type == DType::kBool
              ? std::optional(Interval{0, 1})
              : interval_of(g, node->input(0), depth + 1);
  } else if (node->is("Unsqueeze") || node->is("Expand") || node->is("Reshape") ||
             node->is("Slice") || node->is("Transpose")) {
    out = interval_of(g, node->input(0), depth + 1);
  } else if (node->inputs.size() == 2) {
    out = of_pair(g, *node, depth);
  }
  constexpr double kLimit = std::numeric_limits<float>::max();
  if (out && (out->low < -kLimit || out->high > kLimit)) return std::nullopt;
  return out;
}

bool every_row_has_a_finite_number(const Tensor& t) {
  if (t.rank() == 0) return std::isfinite(t.at(0));
  const int64_t row = t.shape().back();
  for (int64_t begin = 0; row > 0 && begin < t.count(); begin += row) {
    bool any = false;
    for (int64_t i = begin; i < begin + row && !any; ++i)
      any = std::isfinite(t.at(i));
    if (!any) return false;
  }
  return row > 0;
}

/// Whether a row of these scores can be all -inf only when the products are infinite themselves.
bool rows_stay_finite(const Graph& g, ValueId scores) {
  if (made_by(g, scores, "MatMul") != nullptr) return true;
  if (const Node* mul = made_by(g, scores, "Mul"); mul != nullptr && mul->inputs.size() == 2)
    for (const size_t side : {size_t{0}, size_t{1}})
      if (number(g, mul->inputs[side]) && made_by(g, mul->inputs[1 - side], "MatMul") != nullptr)
        return true;
  const Node* add = made_by(g, scores, "Add");
  for (size_t side = 0; side < 2 && add != nullptr; ++side) {
    if (!rows_stay_finite(g, add->inputs[1 - side])) continue;
    const ValueId mask = add->inputs[side];
    if (const Tensor* t = g.constant(mask)) return every_row_has_a_finite_number(*t);
    return interval_of(g, mask).has_value();
  }
  return false;
}

} // namespace

std::optional<Patch> eliminate_nan_guard(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Where") || node.inputs.size() != 3) return std::nullopt;
  const Node* guard = made_by(g, node.inputs[0], "IsNaN");
  const ValueId p = node.inputs[2];
  if (guard == nullptr || guard->input(0) != p) return std::nullopt;
  const Tensor* zero = g.constant(node.inputs[1]);
  const Node* softmax = made_by(g, p, "Softmax");
  if (zero == nullptr || !all_equal(*zero, 0) || softmax == nullptr) return std::nullopt;
  const TypeInfo& type = g.value(p).type;
  if (!same_type(type, g.value(node.output(0)).type)) return std::nullopt;
  const int64_t axis = softmax->attr_int("axis", g.opset() < 13 ? 1 : -1);
  if (axis != -1 && axis != type.rank() - 1) return std::nullopt;
  if (!rows_stay_finite(g, softmax->input(0)) || !can_replace(g, node.output(0), p))
    return std::nullopt;
  Patch patch(g, "the mask leaves every row a finite score: softmax is never NaN",
              Exactness::kExact);
  patch.replace(node.output(0), p);
  return patch;
}

} // namespace octet
