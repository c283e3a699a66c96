// SPDX-License-Identifier: Apache-2.0
// Det (opset 11). The determinant of each matrix in the last two axes, by elimination with row
// pivots.
#include <cmath>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Det {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  if (x.rank() < 2) return error("x is {}; it must hold matrices", x.text());
  std::vector<Dim> out = *x.shape;
  OCTET_TRY(merge_dims(out[out.size() - 2], out[out.size() - 1], "the matrices are not square"));
  out.resize(out.size() - 2);
  return one(x.type, out);
}

/// Destroys `a`, an n x n matrix.
double determinant(double* a, int64_t n) {
  double det = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
    if (a[pivot * n + c] == 0) return det * 0; // not 0 where infinity came before
    if (pivot != c) {
      std::swap_ranges(a + pivot * n, a + pivot * n + n, a + c * n);
      det = -det;
    }
    det *= a[c * n + c];
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = a[r * n + c] / a[c * n + c];
      for (int64_t k = c; k < n; ++k)
        a[r * n + k] -= factor * a[c * n + k];
    }
  }
  return det;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const int64_t n = x.shape().back();
  auto values = OCTET_TRY(x.to_doubles());
  std::vector<double> y(static_cast<size_t>(product(shape)));
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = determinant(values.data() + static_cast<int64_t>(i) * n * n, n);
  return one(OCTET_TRY(rounded(x.type(), shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Det
