// SPDX-License-Identifier: Apache-2.0
// The Reduce operators.
#include "ops/shared/reduce.h"

#include <algorithm>
#include <cmath>

#include "core/codec.h"
#include "core/convert.h"
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet {
namespace {

/// The axes as stated: nullopt when they are an input that is not known.
std::optional<std::vector<int64_t>>
stated_axes(const Node& node, const InputInfo& axes, bool as_input) {
  if (!as_input) return node.attr_ints("axes");
  if (!axes.present) return std::vector<int64_t>();
  return known_ints(axes);
}

std::optional<std::vector<Dim>> folded(const InferContext& c, const Reduction& r, bool keep) {
  const auto& value = c.input(0).value;
  const TypeInfo& type = c.input(0).type;
  if (!value || !r.on_dims || value->empty() || !type.has_rank() || type.rank() != 1 || keep)
    return std::nullopt;
  Dim out = (*value)[0];
  for (size_t i = 1; i < value->size(); ++i)
    out = r.on_dims(out, (*value)[i]);
  return std::vector<Dim>{out};
}

} // namespace

int64_t lowest_integer(DType type) {
  return is_signed(type) ? -highest_integer(type) - 1 : 0;
}

int64_t highest_integer(DType type) {
  if (type == DType::kBool) return 1;
  const int digits = std::min(bits(type) - (is_signed(type) ? 1 : 0), 63);
  return static_cast<int64_t>((uint64_t{1} << digits) - 1);
}

Result<std::vector<bool>>
reduced_axes(const Node& node, std::span<const int64_t> stated, int64_t rank) {
  const bool all = stated.empty() && node.attr_int("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<size_t>(rank), all);
  // An axis that is named twice counts once, as in ONNX Runtime.
  for (const int64_t axis : stated)
    reduced[static_cast<size_t>(OCTET_TRY(normalize_axis(axis, rank)))] = true;
  return reduced;
}

Result<std::vector<OutputInfo>> infer_reduction(const InferContext& c, const Reduction& r) {
  const bool as_input = c.version >= r.axes_input_since;
  OCTET_TRY(check_count(c, 1, as_input ? 2 : 1));
  OCTET_TRY(check_input(c, 0, r.types));
  OCTET_TRY(check_optional(c, 1, kInt64Type));
  const TypeInfo& x = c.input(0).type;
  const bool keep = c.node.attr_int("keepdims", 1) != 0;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  const auto stated = stated_axes(c.node, c.input(1), as_input);
  if (!stated)
    return one(x.type,
               keep ? std::optional(std::vector<Dim>(x.shape->size(), Dim())) : std::nullopt);
  const auto reduced = OCTET_TRY(reduced_axes(c.node, *stated, x.rank()));
  std::vector<Dim> shape;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i])
      shape.push_back((*x.shape)[i]);
    else if (keep)
      shape.emplace_back(1);
  }
  auto outputs = one(x.type, std::move(shape));
  if (std::find(reduced.begin(), reduced.end(), false) == reduced.end())
    outputs[0].value = folded(c, r, keep);
  return outputs;
}

namespace {

/// For each output the offset of its first element, and the offsets of the elements that fall
/// together relative to that.
struct Groups {
  std::vector<int64_t> outputs, members;
};

Groups group(std::span<const int64_t> shape, const std::vector<bool>& reduced) {
  const Shape strides = strides_of(shape);
  Shape kept, kept_strides, gone, gone_strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    (reduced[i] ? gone : kept).push_back(shape[i]);
    (reduced[i] ? gone_strides : kept_strides).push_back(strides[i]);
  }
  return {strided_index(kept, kept_strides), strided_index(gone, gone_strides)};
}

template <class T, class Out, class Fn>
std::vector<Out> reduce(std::span<const T> x, const Groups& g, Fn fn) {
  std::vector<Out> y(g.outputs.size());
  std::vector<T> list(g.members.size());
  for (size_t o = 0; o < y.size(); ++o) {
    for (size_t i = 0; i < list.size(); ++i)
      list[i] = x[static_cast<size_t>(g.outputs[o] + g.members[i])];
    y[o] = fn(std::span<const T>(list));
  }
  return y;
}

} // namespace

Result<std::vector<Tensor>>
eval_reduction(const EvalContext& c, InferFn* infer, const Reduction& r) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const Tensor& x = c.inputs[0];
  std::vector<int64_t> stated = c.node.attr_ints("axes");
  if (c.version >= r.axes_input_since) {
    stated.clear();
    if (c.has(1)) stated = OCTET_TRY(c.inputs[1].to_ints());
  }
  const Groups g = group(x.shape(), OCTET_TRY(reduced_axes(c.node, stated, x.rank())));
  const DType type = x.type();
  if (is_float(type)) {
    const auto values = OCTET_TRY(x.to_doubles());
    return one(
        OCTET_TRY(rounded(type, shape, reduce<double, double>(std::span(values), g, r.real))));
  }
  Tensor out = OCTET_TRY(Tensor::zeros(type, shape));
  if (r.integer) {
    const auto values = OCTET_TRY(x.to_ints());
    const auto y = reduce<int64_t, int64_t>(
        std::span(values), g, [&](std::span<const int64_t> v) { return r.integer(v, type); });
    OCTET_TRY(write_ints(type, y, out.mutable_bytes(), Saturate::kNo));
  } else {
    const auto values = OCTET_TRY(x.to_doubles());
    auto y = reduce<double, double>(std::span(values), g, r.real);
    for (double& v : y)
      v = std::trunc(v);
    OCTET_TRY(write_doubles(type, y, out.mutable_bytes())); // saturates, as Cast does
  }
  return one(std::move(out));
}

} // namespace octet
