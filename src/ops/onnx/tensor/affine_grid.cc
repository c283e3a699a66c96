// SPDX-License-Identifier: Apache-2.0
// AffineGrid (opset 20). theta: [N, 2, 3] or [N, 3, 4]; size: [N, C, (D,) H, W].
// y[n, (d,) h, w] = theta[n] * (x, y, (z,) 1): the place in [-1, 1] of each output element, for
// GridSample; corners or edges of the image lie at +-1 (align_corners).
#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_AffineGrid {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 28;

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_rank(ctx, 0, 3, 3));
  const TypeInfo& theta = ctx.input(0).type;
  const auto size = known_dims(ctx.input(1));
  if (!size) return one(theta.type, std::nullopt);
  if (size->size() != 4 && size->size() != 5)
    return error("size has {} entries; it is [N, C, H, W] or [N, C, D, H, W]", size->size());
  const auto spatial = static_cast<int64_t>(size->size()) - 2;
  if (theta.has_rank()) {
    OCTET_TRY(merge_dims((*theta.shape)[0], (*size)[0], "batches of theta and size"));
    OCTET_TRY(merge_dims((*theta.shape)[1], spatial, "rows of theta and spatial axes"));
    OCTET_TRY(merge_dims((*theta.shape)[2], spatial + 1, "columns of theta and spatial axes + 1"));
  }
  std::vector<Dim> out = {(*size)[0]};
  int64_t count = spatial;
  for (size_t i = 0; i < size->size(); ++i) {
    const Dim& d = (*size)[i];
    if (i >= 2) out.push_back(d);
    if (!d.is_constant() || i == 1) continue;
    if (d.value() < 0 || d.value() > kMostElements) return error("size holds {}", d.value());
    count *= d.value();
    if (count > kMostElements)
      return error("the grid has more than {} elements; use smaller sizes", kMostElements);
  }
  out.emplace_back(spatial);
  return one(theta.type, out);
}

/// The place of element `at` of an axis.
double place(int64_t at, int64_t size, bool align_corners) {
  const auto i = static_cast<double>(at), n = static_cast<double>(size);
  if (!align_corners) return (2 * i + 1) / n - 1;
  return size > 1 ? 2 * i / (n - 1) - 1 : -1;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const bool align_corners = ctx.node.attr_int("align_corners", 0) != 0;
  const auto theta = OCTET_TRY(ctx.inputs[0].to_doubles());
  const auto axes = static_cast<size_t>(shape.back());
  const int64_t points = product(shape, 1, axes + 1);
  std::vector<double> y;
  y.reserve(static_cast<size_t>(product(shape)));
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t p = 0; p < points; ++p) {
      double at[4] = {1, 1, 1, 1}; // x first
      int64_t rest = p;
      for (size_t a = 0; a < axes; ++a) {
        const int64_t size = shape[axes - a];
        at[a] = place(rest % size, size, align_corners);
        rest /= size;
      }
      at[axes] = 1;
      for (size_t row = 0; row < axes; ++row) {
        double sum = 0;
        for (size_t k = 0; k <= axes; ++k)
          sum += theta[(static_cast<size_t>(n) * axes + row) * (axes + 1) + k] * at[k];
        y.push_back(sum);
      }
    }
  return one(OCTET_TRY(rounded(ctx.inputs[0].type(), shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 20,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_AffineGrid
