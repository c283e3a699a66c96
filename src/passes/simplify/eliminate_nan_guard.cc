// SPDX-License-Identifier: Apache-2.0
//   p = Softmax(Add(MatMul, mask)),  Where(IsNaN(p), 0, p) ─▶ y      =>      p
// Scaled dot product attention as torch exports it. Softmax gives NaN where every score of a row is
// -inf, and where one is +inf or NaN, so the guard may only go when the masks leave each row a
// finite score and no such one: every mask is a constant or made of finite numbers, and at most one
// holds -inf, beside a finite number in every row. Exact then for every product that is finite and
// stays so with the masks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/codec.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"

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
  if (!node.is("Add") && !node.is("Sub") && !node.is("Mul")) return std::nullopt;
  const auto a = interval_of(g, node.inputs[0], depth + 1);
  const auto b = interval_of(g, node.inputs[1], depth + 1);
  if (!a || !b) return std::nullopt;
  if (node.is("Add")) return Interval{a->low + b->low, a->high + b->high};
  if (node.is("Sub")) return Interval{a->low - b->high, a->high - b->low};
  const auto [low, high] =
      std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
  return Interval{low, high};
}

/// The largest finite number of an element type; integers are as good as exact here.
double largest(DType type) {
  if (type == DType::kFloat32) return std::numeric_limits<float>::max();
  const FloatFormat* format = float_format(type);
  return format != nullptr ? max_finite(*format) : std::numeric_limits<double>::max();
}

/// nullopt when an element may be infinite or NaN, or wraps.
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
  const DType type = g.value(id).type.type;
  if (!is_float(type) && type != DType::kInt32 && type != DType::kInt64) return std::nullopt;
  const double limit = is_float(type) ? largest(type) : std::numeric_limits<int32_t>::max();
  if (out && (out->low < -limit || out->high > limit)) return std::nullopt;
  return out;
}

/// What a mask adds to the scores.
enum class Mask {
  kFinite,    ///< numbers
  kRowFinite, ///< numbers and -inf, in every row a number
  kUnknown,
};

Mask constant_mask(const Tensor& t) {
  if (t.count() == 0 || !is_float(t.type())) return Mask::kUnknown;
  const int64_t row = t.rank() == 0 ? 1 : t.shape().back();
  bool all = true;
  for (int64_t begin = 0; begin < t.count(); begin += row) {
    bool any = false;
    for (int64_t i = begin; i < begin + row; ++i) {
      const double v = t.at(i);
      if (std::isnan(v) || v == std::numeric_limits<double>::infinity()) return Mask::kUnknown;
      any = any || std::isfinite(v);
      all = all && std::isfinite(v);
    }
    if (!any) return Mask::kUnknown;
  }
  return all ? Mask::kFinite : Mask::kRowFinite;
}

Mask mask_of(const Graph& g, ValueId id) {
  if (const Tensor* t = g.constant(id)) return constant_mask(*t);
  return interval_of(g, id) ? Mask::kFinite : Mask::kUnknown;
}

/// Whether every row of these scores keeps a finite one and none is NaN or +inf, unless the
/// products are infinite themselves. `most`: what the masks in them may be at most.
bool rows_stay_finite(const Graph& g, ValueId scores, Mask most = Mask::kRowFinite) {
  if (made_by(g, scores, "MatMul") != nullptr) return true;
  if (const Node* mul = made_by(g, scores, "Mul"); mul != nullptr && mul->inputs.size() == 2)
    for (const size_t side : {size_t{0}, size_t{1}})
      if (const auto factor = number(g, mul->inputs[side]))
        return std::isfinite(*factor) && made_by(g, mul->inputs[1 - side], "MatMul") != nullptr;
  const Node* add = made_by(g, scores, "Add");
  for (size_t side = 0; side < 2 && add != nullptr; ++side) {
    const Mask mask = mask_of(g, add->inputs[side]);
    if (mask == Mask::kUnknown || mask > most) continue;
    // Two masks of -inf may leave a row nothing together.
    const Mask rest = mask == Mask::kRowFinite ? Mask::kFinite : most;
    if (rows_stay_finite(g, add->inputs[1 - side], rest)) return true;
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
