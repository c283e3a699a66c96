// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/integer_product.h"

#include "core/format.h"
#include "ops/shared/matrix_product.h"

namespace octet::ms {

Status check_column_values(const InferContext& ctx, size_t i, const TypeInfo& b) {
  if (!ctx.has(i) || !ctx.input(i).type.has_rank() || !b.has_rank() || b.rank() < 1)
    return ok_status();
  const TypeInfo& t = ctx.input(i).type;
  Dim count = 1;
  for (const Dim& d : *t.shape)
    count = count * d;
  if (count == Dim(1)) return ok_status();
  OCTET_TRY(merge_dims(count, b.shape->back(), fmt::format("input {} and columns of b", i)));
  return ok_status();
}

Result<std::vector<double>> scaled_product(const ScaledProduct& p) {
  const auto a = OCTET_TRY(centered_operand(p.a, p.a_zero, MatrixSide::kLeft));
  const auto b = OCTET_TRY(centered_operand(p.b, p.b_zero, MatrixSide::kRight));
  const MatmulSizes sizes = matmul_sizes(p.a.shape(), p.b.shape());
  const auto sums = matmul(sizes, a.data(), b.data());
  const auto scales = OCTET_TRY(p.b_scale.to_doubles());
  const auto columns = static_cast<size_t>(sizes.n);
  if (scales.size() != 1 && scales.size() != columns)
    return error("{} scales for {} columns; give one, or one for each", scales.size(), columns);
  std::vector<double> y(sums.size());
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<double>(sums[i]) * p.a_scale * scales[scales.size() == 1 ? 0 : i % columns];
  if (p.bias.empty()) return y;
  const auto bias = OCTET_TRY(p.bias.to_doubles());
  for (size_t i = 0; i < y.size(); ++i)
    y[i] += bias[i % bias.size()];
  return y;
}

} // namespace octet::ms
