// SPDX-License-Identifier: Apache-2.0
// Range (opset 11). start, start + delta, ... before limit; max(ceil((limit - start) / delta), 0)
// elements.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Range {
namespace {

constexpr TypeSet kTypes = kFloatTypes | TypeSet{DType::kInt16, DType::kInt32, DType::kInt64};

/// The number of elements. Errors: a delta of 0, more than can be.
Result<int64_t> length(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (delta.at(0) == 0) return error("delta is 0; use a step that reaches the limit");
  if (is_float(start.type())) {
    const double n = std::ceil((limit.at(0) - start.at(0)) / delta.at(0));
    if (!(n < 0x1p53))
      return error("the range from {} to {} by {} has no end", start.at(0), limit.at(0),
                   delta.at(0));
    return static_cast<int64_t>(std::max(n, 0.0));
  }
  const int64_t step = OCTET_TRY(integer_values(delta))[0];
  const int64_t first = OCTET_TRY(integer_values(start))[0];
  const int64_t end = OCTET_TRY(integer_values(limit))[0];
  if (step > 0 ? first >= end : first <= end) return int64_t{0};
  const auto low = static_cast<uint64_t>(step > 0 ? first : end);
  const auto high = static_cast<uint64_t>(step > 0 ? end : first);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t n = (high - low - 1) / stride + 1;
  if (n > uint64_t{1} << 62) return error("the range has {} elements; make it shorter", n);
  return static_cast<int64_t>(n);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  for (size_t i = 0; i < 3; ++i) {
    OCTET_TRY(check_input(ctx, i, kTypes));
    OCTET_TRY(check_scalar(ctx, i));
  }
  const DType type = OCTET_TRY(common_type(ctx, 0, 2));
  const Tensor* start = ctx.input(0).constant;
  const Tensor* limit = ctx.input(1).constant;
  const Tensor* delta = ctx.input(2).constant;
  if (start && limit && delta)
    return one(type, std::vector<Dim>{OCTET_TRY(length(*start, *limit, *delta))});
  const auto from = known_dims(ctx.input(0));
  const auto to = known_dims(ctx.input(1));
  const auto by = known_dims(ctx.input(2));
  // A symbolic limit is taken not to lie before the start.
  if (from && to && by && (*by)[0] == Dim(1))
    return one(type, std::vector<Dim>{(*to)[0] - (*from)[0]});
  return one(type, unknown_dims(1));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& start = ctx.inputs[0];
  const Tensor& delta = ctx.inputs[2];
  if (is_float(start.type())) {
    std::vector<double> out;
    for (int64_t i = 0; i < shape[0]; ++i)
      out.push_back(start.at(0) + static_cast<double>(i) * delta.at(0));
    return one(OCTET_TRY(real_tensor(start.type(), shape, out)));
  }
  const int64_t first = OCTET_TRY(integer_values(start))[0];
  const int64_t step = OCTET_TRY(integer_values(delta))[0];
  std::vector<int64_t> out;
  for (int64_t i = 0; i < shape[0]; ++i)
    out.push_back(wrap_add(first, wrap_mul(i, step)));
  return one(OCTET_TRY(integer_tensor(start.type(), shape, out)));
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Range
