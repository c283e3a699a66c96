// SPDX-License-Identifier: Apache-2.0
// GridSample (opset 16), one to three spatial axes. x: [N, C, D...], grid: [N, d..., axes], places
// in [-1, 1], innermost axis first; y: [N, C, d...], x at those places.
#include "core/format.h"
#include "ops/shared/sampling.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_GridSample {
namespace {

struct GridSampleAttrs {
  Sampling mode = Sampling::kLinear;
  Beyond beyond = Beyond::kZeros;
  bool align_corners = false;
};

Result<GridSampleAttrs> parse(const Node& node) {
  GridSampleAttrs a;
  const std::string mode = node.attr_string("mode", "linear");
  if (mode == "nearest")
    a.mode = Sampling::kNearest;
  else if (mode == "cubic" || mode == "bicubic")
    a.mode = Sampling::kCubic;
  else if (mode != "linear" && mode != "bilinear")
    return error("mode is \"{}\"; use linear, nearest or cubic", mode);
  const std::string padding = node.attr_string("padding_mode", "zeros");
  if (padding == "border")
    a.beyond = Beyond::kEdge;
  else if (padding == "reflection")
    a.beyond = Beyond::kMirror;
  else if (padding != "zeros")
    return error("padding_mode is \"{}\"; use zeros, border or reflection", padding);
  a.align_corners = node.attr_int("align_corners", 0) != 0;
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_input(ctx, 1, kFloatTypes));
  OCTET_TRY(check_rank(ctx, 0, 3, 5));
  OCTET_TRY(parse(ctx.node));
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

std::vector<SampledAxis> axes_of(std::span<const int64_t> spatial, bool align_corners) {
  std::vector<SampledAxis> axes;
  for (const int64_t size : spatial) {
    const double half = align_corners ? 0 : 0.5;
    axes.push_back({size, -half, static_cast<double>(size - 1) + half});
  }
  return axes;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const GridSampleAttrs a = OCTET_TRY(parse(ctx.node));
  const Tensor& x = ctx.inputs[0];
  const auto values = OCTET_TRY(x.to_doubles());
  const auto grid = OCTET_TRY(ctx.inputs[1].to_doubles());
  const Shape spatial = slice_of(x.shape(), 2, x.shape().size());
  const auto axes = axes_of(spatial, a.align_corners);
  const int64_t channels = shape[1], points = product(shape, 2, shape.size());
  const int64_t plane = product(spatial);
  std::vector<double> y(static_cast<size_t>(product(shape)));
  std::vector<Taps> taps(axes.size());
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t p = 0; p < points; ++p) {
      for (size_t i = 0; i < axes.size(); ++i) {
        const double g =
            grid[static_cast<size_t>(n * points + p) * axes.size() + axes.size() - 1 - i];
        const auto size = static_cast<double>(axes[i].size);
        const double place = a.align_corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
        taps[i] = taps_at(axes[i], place, a.mode, a.beyond);
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
