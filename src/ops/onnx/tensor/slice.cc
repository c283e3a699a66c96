// SPDX-License-Identifier: Apache-2.0
// Slice (opset 1). Along each of `axes`, elements start, start + step, ... before end; both are
// counted from the end when negative and clamped. Attributes before opset 10 (no steps), inputs
// since. Shape computations and symbolic dimensions pass through where the result is clear; a
// symbolic end is taken to lie inside its dimension, a symbolic dimension not to be 0.
#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Slice {
namespace {

/// The parameters as far as they are known, one entry for each sliced axis.
struct SliceAttrs {
  std::vector<Dim> starts, ends;
  std::vector<int64_t> axes, steps;
};

/// A list as dims: an attribute or an input. Nothing when it is not known.
std::optional<std::vector<Dim>> list(const InferContext& ctx, const char* attribute, size_t input) {
  if (ctx.version >= 10) return known_dims(ctx.input(input));
  const auto ints = ctx.node.attr_ints(attribute);
  return std::vector<Dim>(ints.begin(), ints.end());
}

/// Nothing: not known before it runs. Errors: lengths that differ, a step of 0, a bad axis.
Result<std::optional<SliceAttrs>> parse(const InferContext& ctx, int64_t rank) {
  SliceAttrs a;
  const auto starts = list(ctx, "starts", 1);
  const auto ends = list(ctx, "ends", 2);
  const ListArgument axes = list_argument(ctx, "axes", 3, 10);
  ListArgument steps;
  if (ctx.version >= 10) steps = list_argument(ctx, "", 4, 10);
  const size_t n = starts ? starts->size() : ends ? ends->size() : 0;
  a.axes.resize(n);
  std::iota(a.axes.begin(), a.axes.end(), 0);
  if (axes.known) a.axes = *axes.known;
  a.steps = steps.known.value_or(std::vector<int64_t>(n, 1));
  if ((axes.given && !axes.known) || (steps.given && !steps.known) || !starts || !ends)
    return std::optional<SliceAttrs>();
  a.axes = OCTET_TRY(normalize_axes(a.axes, rank));
  a.starts = *starts;
  a.ends = *ends;
  if (a.ends.size() != n || a.axes.size() != n || a.steps.size() != n)
    return error("starts, ends, axes and steps have {}, {}, {} and {} entries; make them equal", n,
                 a.ends.size(), a.axes.size(), a.steps.size());
  if (std::find(a.steps.begin(), a.steps.end(), 0) != a.steps.end())
    return error("a step is 0; use 1 or more, or a negative step to go backwards");
  return std::optional(std::move(a));
}

/// First element and count along an axis of `size` elements.
struct Range {
  int64_t first = 0;
  int64_t count = 0;
};

Range range(int64_t size, int64_t start, int64_t end, int64_t step) {
  const auto clamped = [size](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  if (step > 0) {
    const int64_t from = clamped(start, 0, size);
    const int64_t to = clamped(end, 0, size);
    return {from, from < to ? (to - from - 1) / step + 1 : 0};
  }
  // A start before the first element is the first one here, unlike NumPy's: ONNX says so.
  const int64_t from = std::min(clamped(start, 0, size), size - 1);
  const int64_t to = clamped(end, -1, size - 1);
  // The most negative step has no positive counterpart; one element is all that it can reach.
  const int64_t back = step == INT64_MIN ? INT64_MAX : -step;
  return {from, from > to ? (from - to - 1) / back + 1 : 0};
}

/// The count along a symbolic dimension, or with symbolic bounds.
Dim symbolic_count(const Dim& size, const Dim& start, const Dim& end, int64_t step) {
  if (step != 1) {
    // Every step-th element to the end; from a later start a short axis would give less than none.
    const bool to_end = end.is_constant() && end.value() >= INT32_MAX && start.is_constant() &&
                        start.value() >= 0 && start.value() < step;
    return to_end && size.is_never_negative() ? ceil_divide(size - start, step) : Dim::unknown();
  }
  const auto from_front = [&](const Dim& at) -> Dim {
    if (!at.is_constant()) return at;
    if (at.value() >= INT32_MAX) return size;
    if (at.value() < 0) return size + at;
    return at;
  };
  if (start == Dim(0) && end == Dim(1)) return 1;
  if (end.is_constant() && end.value() > 1 && end.value() < INT32_MAX && !size.is_constant())
    return Dim::unknown();
  const Dim count = from_front(end) - from_front(start);
  // A start so far from the end may lie before the first element of a short axis.
  if (count.is_constant() && start.is_constant() && start.value() < -1 && !size.is_constant())
    return Dim::unknown();
  return count.is_constant() && count.value() < 0 ? Dim(0) : count;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, ctx.version < 10 ? 1 : 3, ctx.version < 10 ? 1 : 5));
  OCTET_TRY(check_present(ctx, 0));
  for (size_t i = 1; i < ctx.inputs.size(); ++i)
    if (ctx.has(i)) OCTET_TRY(check_input(ctx, i, kIndexTypes));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  const auto a = OCTET_TRY(parse(ctx, x.rank()));
  if (!a) return one(x.type, unknown_dims(x.rank()));
  std::vector<Dim> out = *x.shape;
  const auto value = known_dims(ctx.input(0));
  std::optional<std::vector<Dim>> picked = value;
  for (size_t i = 0; i < a->axes.size(); ++i) {
    Dim& d = out[static_cast<size_t>(a->axes[i])];
    if (!d.is_constant() || !a->starts[i].is_constant() || !a->ends[i].is_constant()) {
      d = symbolic_count(d, a->starts[i], a->ends[i], a->steps[i]);
      picked.reset();
      continue;
    }
    const Range r = range(d.value(), a->starts[i].value(), a->ends[i].value(), a->steps[i]);
    d = r.count;
    if (!picked) continue;
    picked->clear();
    for (int64_t k = 0; k < r.count; ++k)
      picked->push_back((*value)[static_cast<size_t>(r.first + k * a->steps[i])]);
  }
  auto outputs = one(x.type, out);
  set_value(outputs[0], std::move(picked));
  return outputs;
}

/// The validated parameters on actual tensors.
Result<SliceAttrs> parse_values(const EvalContext& ctx) {
  InferContext types{ctx.node, ctx.version, {}, {}};
  for (const Tensor& t : ctx.inputs) {
    InputInfo info;
    info.present = !t.empty();
    info.constant = info.present ? &t : nullptr;
    types.inputs.push_back(std::move(info));
  }
  auto a = OCTET_TRY(parse(types, ctx.inputs[0].rank()));
  if (!a) return error("starts, ends, axes and steps must be vectors of integers");
  return std::move(*a);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const SliceAttrs a = OCTET_TRY(parse_values(ctx));
  const Tensor& x = ctx.inputs[0];
  const Shape own = strides_of(x.shape());
  Shape strides = own;
  int64_t offset = 0;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const auto axis = static_cast<size_t>(a.axes[i]);
    const Range r = range(x.dim(a.axes[i]), a.starts[i].value(), a.ends[i].value(), a.steps[i]);
    if (r.count > 1) strides[axis] = own[axis] * a.steps[i];
    if (r.count > 0) offset += r.first * own[axis];
  }
  return one(OCTET_TRY(take(x, shape, strided_index(shape, strides, offset))));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Slice
