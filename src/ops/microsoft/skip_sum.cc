// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/skip_sum.h"

#include <array>

#include "ops/shared/movement.h"
#include "ops/shared/normalization.h"

namespace octet::ms {

Result<std::vector<OutputInfo>> infer_skip(const InferContext& ctx, size_t most) {
  OCTET_TRY(check_count(ctx, 3, most));
  for (size_t i = 0; i < most; ++i) {
    if (i < 3) OCTET_TRY(check_present(ctx, i));
    OCTET_TRY(check_optional(ctx, i, kFloatTypes));
  }
  TypeInfo x = ctx.input(0).type;
  const TypeInfo& skip = ctx.input(1).type;
  if (x.has_rank() && skip.has_rank())
    x.shape = OCTET_TRY(broadcast_dims(std::array{*x.shape, *skip.shape}));
  else
    x.shape.reset();
  TypeInfo statistic = x;
  statistic.type = DType::kFloat32;
  if (x.has_rank()) {
    if (x.rank() < 1) return Error("x is a scalar; it must have an axis to normalize over");
    for (size_t i = 2; i < most; ++i) {
      OCTET_TRY(check_rank(ctx, i, 1, 1));
      OCTET_TRY(check_vector(ctx, i, x.shape->back(), "gamma, beta or bias and the last axis"));
    }
    statistic.shape->back() = 1;
  }
  return std::vector<OutputInfo>{x, statistic, statistic, x};
}

Result<std::vector<double>> skip_sum(const EvalContext& ctx, const Shape& shape, size_t bias) {
  const auto x = OCTET_TRY(ctx.inputs[0].to_doubles());
  const auto skip = OCTET_TRY(ctx.inputs[1].to_doubles());
  const auto of_x = broadcast_index(ctx.inputs[0].shape(), shape);
  const auto of_skip = broadcast_index(ctx.inputs[1].shape(), shape);
  const auto width = static_cast<size_t>(shape.back());
  std::vector<double> sum(of_x.size());
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] = x[static_cast<size_t>(of_x[i])] + skip[static_cast<size_t>(of_skip[i])];
    if (ctx.has(bias)) sum[i] += ctx.inputs[bias].at(static_cast<int64_t>(i % width));
  }
  return sum;
}

} // namespace octet::ms
