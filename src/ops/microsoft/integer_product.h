// SPDX-License-Identifier: Apache-2.0
// What MatMulIntegerToFloat, DynamicQuantizeMatMul, QGemm, QAttention and the ordered products
// share: the product of codes, scaled to float.
#pragma once

#include "ops/microsoft/codes.h"

namespace octet::ms {

/// A scalar, or one number for each column of the product.
Status check_column_values(const InferContext& ctx, size_t i, const TypeInfo& b);

struct ScaledProduct {
  Tensor a, a_zero, b, b_zero; ///< zero points may be empty()
  double a_scale = 1;
  Tensor b_scale; ///< one, or one for each column
  Tensor bias;    ///< one for each column; may be empty()
};
/// (a - a_zero) @ (b - b_zero) * a_scale * b_scale + bias; the sum of products is exact.
Result<std::vector<double>> scaled_product(const ScaledProduct& p);

} // namespace octet::ms
