// SPDX-License-Identifier: Apache-2.0
// Clip (opset 6). y = min(max(x, min), max); NaN stays NaN, min > max gives max.
// The bounds are attributes before opset 11, optional scalar inputs since.
#include <algorithm>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Clip {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, ctx.version < 11 ? 1 : 3));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(common_type(ctx, 0, 2));
  OCTET_TRY(check_scalar(ctx, 1));
  OCTET_TRY(check_scalar(ctx, 2));
  return one(ctx.input(0).type);
}

/// The value of a bound in the domain of T, when there is one.
template <class T>
std::optional<T> bound(const EvalContext& ctx, size_t i, const char* attribute) {
  if (ctx.has(i)) {
    if constexpr (std::is_same_v<T, double>) return ctx.inputs[i].at(0);
    auto ints = integer_values(ctx.inputs[i]);
    return ints.ok() ? std::optional(static_cast<T>((*ints)[0])) : std::nullopt;
  }
  if (ctx.version < 11 && ctx.node.has_attr(attribute))
    return static_cast<T>(ctx.node.attr_float(attribute, 0));
  return std::nullopt;
}

template <class T>
std::function<T(T)> clip_between(const EvalContext& ctx) {
  const auto low = bound<T>(ctx, 1, "min");
  const auto high = bound<T>(ctx, 2, "max");
  return [low, high](T x) {
    if (low && x < *low) x = *low;
    if (high && x > *high) x = *high;
    return x;
  };
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  UnaryFn f;
  const DType type = ctx.inputs[0].type();
  if (is_float(type))
    f.real = clip_between<double>(ctx);
  else if (is_signed(type))
    f.integer = clip_between<int64_t>(ctx);
  else
    f.natural = clip_between<uint64_t>(ctx);
  return one(OCTET_TRY(map_unary(ctx.inputs[0], f)));
}

/// Where a bound may lie: one number, when it is known.
Range range_of_bound(const RangeContext& c, size_t i, const char* attribute, double absent) {
  if (const Tensor* t = c.constant(i); t != nullptr && t->count() == 1) return {t->at(0), t->at(0)};
  if (c.node.input(i).valid()) return c.in(i);
  const double bound =
      c.node.has_attr(attribute) ? static_cast<double>(c.node.attr_float(attribute, 0)) : absent;
  return {bound, bound};
}

Range range(const RangeContext& c) {
  const Range x = c.in(0), low = range_of_bound(c, 1, "min", kEverything.lo),
              high = range_of_bound(c, 2, "max", kEverything.hi);
  return {std::min(std::max(x.lo, low.lo), high.lo), std::min(std::max(x.hi, low.hi), high.hi)};
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = range,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Clip
