// SPDX-License-Identifier: Apache-2.0
// Clip (opset 6). y = min(max(x, min), max); NaN stays NaN, min > max gives max.
// The bounds are attributes before opset 11, optional scalar inputs since.
#include <algorithm>

#include "ops/elementwise.h"

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

QuantTrait quant(const Node& node, std::span<const InputInfo> inputs) {
  QuantTrait t = unary_table(node, inputs);
  const auto limit = [&](size_t i, const char* attribute) -> std::optional<double> {
    if (i < inputs.size() && inputs[i].constant != nullptr && inputs[i].constant->count() == 1)
      return inputs[i].constant->at(0);
    if (node.has_attr(attribute)) return node.attr_float(attribute, 0);
    return std::nullopt;
  };
  const auto low = limit(1, "min");
  const auto high = limit(2, "max");
  if (low && high && *low <= *high) t.output_range = {*low, *high};
  return t;
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "Clip",
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = quant,
};

} // namespace octet::onnx::op_Clip
