// SPDX-License-Identifier: Apache-2.0
// TopK (opset 1). The k largest (or smallest, opset 11) elements along `axis` and their indices, in
// order; of equal elements the one with the lower index comes first. k is an attribute before
// opset 10, an input since. NaN ranks above every number.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_TopK {
namespace {

struct TopKAttrs {
  int64_t axis = -1;
  bool largest = true;
};

Result<TopKAttrs> parse(const Node& node, int64_t rank) {
  return TopKAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", -1), rank)),
                   .largest = node.attr_int("largest", 1) != 0};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, ctx.version < 10 ? 1 : 2, ctx.version < 10 ? 1 : 2));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  if (ctx.version >= 10) OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_scalar(ctx, 1));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank())
    return std::vector<OutputInfo>{one(x.type, std::nullopt)[0],
                                   one(DType::kInt64, std::nullopt)[0]};
  const auto axis = static_cast<size_t>(OCTET_TRY(parse(ctx.node, x.rank())).axis);
  Dim k;
  if (ctx.version < 10) {
    k = ctx.node.attr_int("k", -1);
  } else if (const auto known = known_dims(ctx.input(1)); known && known->size() == 1) {
    k = (*known)[0];
  }
  std::vector<Dim> out = *x.shape;
  const auto size = out[axis].maybe_value();
  if (k.is_constant() && (k.value() < 0 || (size && k.value() > *size)))
    return error("k is {} but axis {} of {} holds {} elements; use 0 to that many", k.value(), axis,
                 x.text(), out[axis].text());
  out[axis] = k;
  return std::vector<OutputInfo>{one(x.type, out)[0], one(DType::kInt64, out)[0]};
}

/// The positions 0 to size - 1 in order of rank.
template <class T>
std::vector<int64_t>
ranking(const std::vector<T>& values, int64_t first, int64_t stride, int64_t size, bool largest) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  const auto above = [&](T a, T b) {
    if constexpr (std::is_same_v<T, double>)
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return a > b;
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const T a = values[static_cast<size_t>(first + i * stride)];
    const T b = values[static_cast<size_t>(first + j * stride)];
    return largest ? above(a, b) : above(b, a);
  });
  return order;
}

/// The best `shape[axis]` positions of every line along the axis.
template <class T>
std::vector<int64_t>
best(const std::vector<T>& values, const Shape& in, const Shape& shape, const TopKAttrs& a) {
  const auto axis = static_cast<size_t>(a.axis);
  const Shape own = strides_of(in);
  const Shape strides = strides_of(shape);
  Shape lines = in;
  lines[axis] = 1;
  const auto starts = strided_index(lines, own);
  const auto targets = strided_index(lines, strides);
  std::vector<int64_t> out(targets.size() * static_cast<size_t>(shape[axis]));
  for (size_t line = 0; line < starts.size(); ++line) {
    const auto order = ranking(values, starts[line], own[axis], in[axis], a.largest);
    for (int64_t k = 0; k < shape[axis]; ++k)
      out[static_cast<size_t>(targets[line] + k * strides[axis])] = order[static_cast<size_t>(k)];
  }
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const TopKAttrs a = OCTET_TRY(parse(ctx.node, x.rank()));
  std::vector<int64_t> positions;
  if (is_float(x.type())) {
    positions = best(OCTET_TRY(x.to_doubles()), x.shape(), shape, a);
  } else {
    const auto values = OCTET_TRY(integer_values(x));
    positions = is_signed(x.type()) ? best(values, x.shape(), shape, a)
                                    : best(std::vector<uint64_t>(values.begin(), values.end()),
                                           x.shape(), shape, a);
  }
  const auto axis = static_cast<size_t>(a.axis);
  Shape strides = strides_of(x.shape());
  const int64_t along = std::exchange(strides[axis], 0);
  auto index = strided_index(shape, strides);
  for (size_t i = 0; i < index.size(); ++i)
    index[i] += positions[i] * along;
  return std::vector<Tensor>{OCTET_TRY(take(x, shape, index)),
                             Tensor::of<int64_t>(shape, positions)};
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kOrder>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_TopK
