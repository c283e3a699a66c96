// SPDX-License-Identifier: Apache-2.0
#include "ops/native/rows_product.h"

namespace octet::native {

Result<std::optional<std::vector<Dim>>> rows_shape(const TypeInfo& x, const TypeInfo& w) {
  if (!x.has_rank() || !w.has_rank()) return std::optional<std::vector<Dim>>();
  OCTET_TRY(merge_dims(x.shape->back(), (*w.shape)[1], "inner sizes of the product"));
  std::vector<Dim> shape = *x.shape;
  shape.back() = (*w.shape)[0];
  return std::optional(std::move(shape));
}

Status
check_channel_scales(const InferContext& ctx, size_t scales, size_t bias, const Dim& channels) {
  const auto shape = ctx.input(scales).type.static_shape();
  if (!shape || product(*shape) != 1)
    OCTET_TRY(check_vector(ctx, scales, channels, "scales and output channels"));
  return check_vector(ctx, bias, channels, "bias elements and output channels");
}

std::vector<int64_t> rows_sums(std::span<const int32_t> x,
                               std::span<const int32_t> w,
                               const Shape& w_shape,
                               int64_t count) {
  const int64_t n = w_shape[0], k = w_shape[1];
  std::vector<int64_t> sums(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    sums[static_cast<size_t>(i)] = dot(x.data() + i / n * k, w.data() + i % n * k, k);
  return sums;
}

} // namespace octet::native
