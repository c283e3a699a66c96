// SPDX-License-Identifier: Apache-2.0
// RoiAlign (opset 10). x: [N, C, H, W], rois: [R, 4] as (x1, y1, x2, y2), batch_indices: [R];
// y: [R, C, output_height, output_width]. Each bin of a region is the average (or the largest) of
// samples that lie evenly in it, read by linear interpolation.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/roi_bins.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_RoiAlign {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kFloatTypes));
  OCTET_TRY(check_input(ctx, 2, kInt64Type));
  OCTET_TRY(check_rank(ctx, 0, 4, 4));
  OCTET_TRY(check_rank(ctx, 1, 2, 2));
  OCTET_TRY(check_rank(ctx, 2, 1, 1));
  const RoiAlignAttrs a = OCTET_TRY(roi_align_attrs(ctx.node, ctx.version));
  const TypeInfo& x = ctx.input(0).type;
  std::vector<Dim> out = {Dim::unknown(), Dim::unknown(), a.height, a.width};
  if (x.has_rank()) out[1] = (*x.shape)[1];
  if (ctx.input(2).type.has_rank()) out[0] = (*ctx.input(2).type.shape)[0];
  if (ctx.input(1).type.has_rank()) {
    out[0] = OCTET_TRY(merge_dims(out[0], (*ctx.input(1).type.shape)[0], "rois and batch_indices"));
    OCTET_TRY(merge_dims((*ctx.input(1).type.shape)[1], 4, "corners of a roi"));
  }
  return one(x.type, out);
}

double pool(const RoiBin& bin, const double* plane, int64_t height, int64_t width, bool largest) {
  double sum = 0, most = -HUGE_VAL;
  for (int64_t r = 0; r < bin.rows; ++r)
    for (int64_t c = 0; c < bin.columns; ++c) {
      const RoiSample s = sample_of(bin, r, c, height, width);
      for (int k = 0; k < 4; ++k) {
        const double v = s.weight[k] * plane[s.index[k]];
        sum += v;
        most = std::max(most, v);
      }
    }
  const int64_t count = bin.rows * bin.columns;
  if (count == 0) return 0;
  return largest ? most : sum / static_cast<double>(count);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const RoiAlignAttrs a = OCTET_TRY(roi_align_attrs(ctx.node, ctx.version));
  const Tensor& x = ctx.inputs[0];
  const auto values = OCTET_TRY(x.to_doubles());
  const auto rois = OCTET_TRY(ctx.inputs[1].to_doubles());
  const auto batch = OCTET_TRY(integer_values(ctx.inputs[2]));
  const int64_t channels = shape[1], height = x.dim(2), width = x.dim(3);
  if (height == 0 || width == 0) return error("x has no elements");
  std::vector<double> y;
  for (size_t r = 0; r < batch.size(); ++r) {
    if (batch[r] < 0 || batch[r] >= x.dim(0))
      return error("batch_indices holds {}; x has {} images", batch[r], x.dim(0));
    const RoiBin first = OCTET_TRY(first_bin(rois.data() + 4 * r, a));
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t row = 0; row < a.height; ++row)
        for (int64_t column = 0; column < a.width; ++column) {
          const RoiBin bin = bin_at(first, row, column);
          const double* plane = values.data() + (batch[r] * channels + c) * height * width;
          y.push_back(pool(bin, plane, height, width, a.largest));
        }
  }
  return one(OCTET_TRY(rounded(x.type(), shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_RoiAlign
