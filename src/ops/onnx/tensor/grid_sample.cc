// SPDX-License-Identifier: Apache-2.0
// GridSample (opset 16), one to three spatial axes. x: [N, C, D...], grid: [N, d..., axes], places
// in [-1, 1], innermost axis first; y: [N, C, d...], x at those places.
#include "ops/shared/grid_sample.h"

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_GridSample {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_input(ctx, 1, kFloatTypes));
  OCTET_TRY(check_rank(ctx, 0, 3, 5));
  OCTET_TRY(parse_grid_sample(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& grid = ctx.input(1).type;
  if (!x.has_rank() || !grid.has_rank()) return one(x.type, std::nullopt);
  if (grid.rank() != x.rank())
    return error("x is {} but the grid {}; they have one rank", x.text(), grid.text());
  std::vector<Dim> out = *x.shape;
  out[0] = OCTET_TRY(merge_dims(out[0], (*grid.shape)[0], "batches of x and grid"));
  OCTET_TRY(merge_dims(grid.shape->back(), x.rank() - 2, "grid coordinates and spatial axes"));
  for (size_t i = 2; i < out.size(); ++i) {
    if (out[i] == Dim(0)) return error("axis {} of {} is empty", i, x.text());
    out[i] = (*grid.shape)[i - 1];
  }
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const GridSampleAttrs a = OCTET_TRY(parse_grid_sample(ctx.node));
  const Tensor& x = ctx.inputs[0];
  const auto values = OCTET_TRY(x.to_doubles());
  const auto grid = OCTET_TRY(ctx.inputs[1].to_doubles());
  const Shape spatial = slice_of(x.shape(), 2, x.shape().size());
  std::vector<SampledAxis> axes;
  for (const int64_t size : spatial)
    axes.push_back(grid_axis(a, size));
  const int64_t channels = shape[1], points = product(shape, 2, shape.size());
  const int64_t plane = product(spatial);
  std::vector<double> y(static_cast<size_t>(product(shape)));
  std::vector<Taps> taps(axes.size());
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t p = 0; p < points; ++p) {
      for (size_t i = 0; i < axes.size(); ++i) {
        const double g =
            grid[static_cast<size_t>(n * points + p) * axes.size() + axes.size() - 1 - i];
        taps[i] = grid_taps(a, axes[i], g);
      }
      for (int64_t c = 0; c < channels; ++c)
        y[static_cast<size_t>((n * channels + c) * points + p)] =
            sample(values.data() + (n * channels + c) * plane, axes, taps);
    }
  return one(OCTET_TRY(rounded(x.type(), shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 16,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_GridSample
