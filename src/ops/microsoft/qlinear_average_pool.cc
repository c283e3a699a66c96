// SPDX-License-Identifier: Apache-2.0
// QLinearAveragePool (com.microsoft 1). Codes of the average of each window, as AveragePool has it;
// with channels_last x and y are [N, D..., C].
#include <numeric>

#include "ops/microsoft/codes.h"
#include "ops/shared/movement.h"
#include "ops/shared/pooling.h"

namespace octet::ms::op_QLinearAveragePool {
namespace {

/// channels_last <-> channels first, of dims or sizes.
template <class T>
std::vector<T> channels_first(std::vector<T> shape) {
  if (shape.size() > 2) std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}
template <class T>
std::vector<T> channels_last(std::vector<T> shape) {
  if (shape.size() > 2) std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(ms::infer_unary_codes(ctx));
  const DType type = ms::output_type(ctx, 3, ctx.input(0).type.type);
  TypeInfo x = ctx.input(0).type;
  const bool last = ctx.node.attr_int("channels_last", 0) != 0;
  if (last && x.shape) x.shape = channels_first(*x.shape);
  auto shape = OCTET_TRY(pool_shape(ctx.node, x));
  if (last && shape) shape = channels_last(*shape);
  return one(type, std::move(shape));
}

/// Values in the order of another layout; `shape` is theirs.
template <class Reorder>
std::vector<double>
reordered(const std::vector<double>& values, const Shape& shape, Reorder order) {
  const Shape strides = order(strides_of(shape));
  std::vector<double> out;
  for (const int64_t i : strided_index(order(shape), strides))
    out.push_back(values[static_cast<size_t>(i)]);
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape result = OCTET_TRY(shape_of(outputs[0]));
  const bool last = ctx.node.attr_int("channels_last", 0) != 0;
  Shape in = ctx.inputs[0].shape(), shape = result;
  auto x = OCTET_TRY(ms::read_codes(ctx, 0));
  if (last) {
    x = reordered(x, in, channels_first<int64_t>);
    in = channels_first(in);
    shape = channels_first(shape);
  }
  const Window3 g = OCTET_TRY(pool_window(ctx.node, in, shape));
  const bool count_padding = ctx.node.attr_int("count_include_pad", 0) != 0;
  auto y = average_planes(g, shape[0] * shape[1], x, count_padding);
  if (last) y = reordered(y, shape, channels_last<int64_t>);
  return one(OCTET_TRY(ms::write_codes(ctx, 3, outputs[0].type.type, result, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::ms::op_QLinearAveragePool
