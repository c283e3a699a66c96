// SPDX-License-Identifier: Apache-2.0
// Where RoiAlign reads: the bins of a region and the samples of a bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "core/format.h"

#include "octet/graph.h"

namespace octet {

/// Samples along one axis of a bin: a region is no larger than an image.
inline constexpr int64_t kMostRoiSamples = int64_t{1} << 16;

struct RoiAlignAttrs {
  int64_t height = 1, width = 1, samples = 0;
  double scale = 1;
  bool half_pixel = true, largest = false;
};

inline Result<RoiAlignAttrs> roi_align_attrs(const Node& node, int64_t version) {
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
    if (v < 1 || v > kMostRoiSamples)
      return error("output_height, output_width or sampling_ratio are out of range");
  return a;
}

/// One bin of a region, in units of elements.
struct RoiBin {
  double y, x, height, width;
  int64_t rows, columns; ///< samples
};

/// The four weighted neighbours of a sample; all zero where it lies outside.
struct RoiSample {
  int64_t index[4] = {};
  double weight[4] = {};
};

inline RoiSample sample_at(double y, double x, int64_t height, int64_t width) {
  RoiSample s;
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

/// The first bin of a region. Errors: a region that is larger than images are, or is no number.
inline Result<RoiBin> first_bin(const double* roi, const RoiAlignAttrs& a) {
  const double shift = a.half_pixel ? 0.5 : 0;
  const double x = roi[0] * a.scale - shift, y = roi[1] * a.scale - shift;
  double width = roi[2] * a.scale - shift - x, height = roi[3] * a.scale - shift - y;
  if (!a.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  RoiBin bin{y,
             x,
             height / static_cast<double>(a.height),
             width / static_cast<double>(a.width),
             a.samples,
             a.samples};
  if (a.samples > 0) return bin;
  const double rows = std::ceil(bin.height), columns = std::ceil(bin.width);
  const auto most = static_cast<double>(kMostRoiSamples);
  if (!(rows <= most && columns <= most))
    return error("a roi of {} x {} elements is too large", height, width);
  bin.rows = std::max<int64_t>(static_cast<int64_t>(rows), 0);
  bin.columns = std::max<int64_t>(static_cast<int64_t>(columns), 0);
  return bin;
}

/// The bin of a row and a column, given the first one.
inline RoiBin bin_at(RoiBin first, int64_t row, int64_t column) {
  first.y += static_cast<double>(row) * first.height;
  first.x += static_cast<double>(column) * first.width;
  return first;
}

inline RoiSample
sample_of(const RoiBin& bin, int64_t row, int64_t column, int64_t height, int64_t width) {
  const auto part = [](int64_t i, int64_t n) {
    return (static_cast<double>(i) + 0.5) / static_cast<double>(n);
  };
  return sample_at(bin.y + part(row, bin.rows) * bin.height,
                   bin.x + part(column, bin.columns) * bin.width, height, width);
}

} // namespace octet
