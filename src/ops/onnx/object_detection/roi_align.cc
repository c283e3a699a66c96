// SPDX-License-Identifier: Apache-2.0
// RoiAlign (opset 10). x: [N, C, H, W], rois: [R, 4] as (x1, y1, x2, y2), batch_indices: [R];
// y: [R, C, output_height, output_width]. Each bin of a region is the average (or the largest) of
// samples that lie evenly in it, read by linear interpolation.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_RoiAlign {
namespace {

/// Samples along one axis of a bin: a region is no larger than an image.
constexpr int64_t kMostSamples = int64_t{1} << 16;

struct RoiAlignAttrs {
  int64_t height = 1, width = 1, samples = 0;
  double scale = 1;
  bool half_pixel = true, largest = false;
};

Result<RoiAlignAttrs> parse(const Node& node, int64_t version) {
  RoiAlignAttrs a{.height = node.attr_int("output_height", 1),
                  .width = node.attr_int("output_width", 1),
                  .samples = node.attr_int("sampling_ratio", 0),
                  .scale = static_cast<double>(node.attr_float("spatial_scale", 1)),
                  .half_pixel = version >= 16,
                  .largest = false};
  const std::string mode = node.attr_string("mode", "avg");
  if (mode != "avg" && mode != "max") return error("mode is \"{}\"; use avg or max", mode);
  a.largest = mode == "max";
  const std::string coordinates = node.attr_string(
      "coordinate_transformation_mode", a.half_pixel ? "half_pixel" : "output_half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return error("coordinate_transformation_mode is \"{}\"; use half_pixel or output_half_pixel",
                 coordinates);
  a.half_pixel = coordinates == "half_pixel";
  for (const int64_t v : {a.height, a.width, a.samples + 1})
    if (v < 1 || v > kMostSamples)
      return error("output_height, output_width or sampling_ratio are out of range");
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kFloatTypes));
  OCTET_TRY(check_input(ctx, 2, kInt64Type));
  OCTET_TRY(check_rank(ctx, 0, 4, 4));
  OCTET_TRY(check_rank(ctx, 1, 2, 2));
  OCTET_TRY(check_rank(ctx, 2, 1, 1));
  const RoiAlignAttrs a = OCTET_TRY(parse(ctx.node, ctx.version));
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

/// One bin of a region, in units of elements.
struct Bin {
  double y, x, height, width;
  int64_t rows, columns; ///< samples
};

/// The four weighted neighbours of a sample; all zero where it lies outside.
struct Sample {
  int64_t index[4] = {};
  double weight[4] = {};
};

Sample sample_at(double y, double x, int64_t height, int64_t width) {
  Sample s;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width)))
    return s;
  const auto split = [](double v, int64_t size, int64_t& low, int64_t& high) {
    v = std::clamp(v, 0.0, static_cast<double>(size - 1));
    low = static_cast<int64_t>(v);
    high = std::min(low + 1, size - 1);
    return v - static_cast<double>(low);
  };
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  const double down = split(y, height, top, bottom), along = split(x, width, left, right);
  const int64_t index[4] = {top * width + left, top * width + right, bottom * width + left,
                            bottom * width + right};
  const double weight[4] = {(1 - down) * (1 - along), (1 - down) * along, down * (1 - along),
                            down * along};
  std::copy_n(index, 4, s.index);
  std::copy_n(weight, 4, s.weight);
  return s;
}

double pool(const Bin& bin, const double* plane, int64_t height, int64_t width, bool largest) {
  double sum = 0, most = -HUGE_VAL;
  for (int64_t r = 0; r < bin.rows; ++r)
    for (int64_t c = 0; c < bin.columns; ++c) {
      const auto part = [](int64_t i, int64_t n) {
        return (static_cast<double>(i) + 0.5) / static_cast<double>(n);
      };
      const Sample s = sample_at(bin.y + part(r, bin.rows) * bin.height,
                                 bin.x + part(c, bin.columns) * bin.width, height, width);
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

/// The first bin of a region. Errors: a region that is larger than images are, or is no number.
Result<Bin> first_bin(const double* roi, const RoiAlignAttrs& a) {
  const double shift = a.half_pixel ? 0.5 : 0;
  const double x = roi[0] * a.scale - shift, y = roi[1] * a.scale - shift;
  double width = roi[2] * a.scale - shift - x, height = roi[3] * a.scale - shift - y;
  if (!a.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  Bin bin{y,
          x,
          height / static_cast<double>(a.height),
          width / static_cast<double>(a.width),
          a.samples,
          a.samples};
  if (a.samples > 0) return bin;
  const double rows = std::ceil(bin.height), columns = std::ceil(bin.width);
  const auto most = static_cast<double>(kMostSamples);
  if (!(rows <= most && columns <= most))
    return error("a roi of {} x {} elements is too large", height, width);
  bin.rows = std::max<int64_t>(static_cast<int64_t>(rows), 0);
  bin.columns = std::max<int64_t>(static_cast<int64_t>(columns), 0);
  return bin;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const RoiAlignAttrs a = OCTET_TRY(parse(ctx.node, ctx.version));
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
    const Bin first = OCTET_TRY(first_bin(rois.data() + 4 * r, a));
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t row = 0; row < a.height; ++row)
        for (int64_t column = 0; column < a.width; ++column) {
          Bin bin = first;
          bin.y += static_cast<double>(row) * bin.height;
          bin.x += static_cast<double>(column) * bin.width;
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
