// SPDX-License-Identifier: Apache-2.0
// What became of one float tensor in a quantized model: error, range against grid, channels that
// stand out. Streams; what it holds does not grow with the data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/qdq/grid.h"
#include "quant/observers/histogram.h"

#include "octet/graph.h"

namespace octet {

/// The channel whose numbers are largest beside the others'.
struct OutlierChannel {
  int64_t channel = 0;
  double magnitude = 0; ///< its largest |x|
  double ratio = 0;     ///< over the median channel's; infinite where that is 0
};

class TensorView {
 public:
  /// `grid`: of the codes that stand for the tensor; none: the other model has it in float.
  /// `axis`: its channels, which may count from the end.
  TensorView(std::string value, std::optional<qdq::Grid> grid, CodeRange codes, int64_t axis)
      : value_(std::move(value)), grid_(std::move(grid)), codes_(codes), axis_(axis) {}

  /// The same elements in both models: codes in `other` where there is a grid, else numbers. Numbers
  /// of `wanted` that are not finite count as left out, and so do those whose `mask` is 0.
  /// Sums are taken example by example (axis 0), so that batches do not show. Errors: shapes that
  /// differ, types that hold no numbers.
  Status add(const Tensor& wanted, const Tensor& other, const Tensor* mask = nullptr);
  /// Numbers without another model beside them; what there is to say of two models is not there.
  /// Reads them once, in pieces; what was read of a mapped file is let go of.
  Status add_alone(const Tensor& numbers);
  /// The same of what codes on the grid stand for, in `real`.
  Status add_codes(const Tensor& codes, DType real);

  const std::string& value() const { return value_; }
  const std::optional<qdq::Grid>& grid() const { return grid_; }
  int bits() const; ///< of the codes
  int64_t elements() const { return elements_; }
  int64_t left_out() const { return left_out_; }

  /// Power over squared error in decibels, 200 at most: beside the other model, where what came
  /// before was quantized too, and of this tensor alone on its grid (nullopt without one).
  double sqnr_db() const;
  std::optional<double> sqnr_alone_db() const;
  double cosine() const; ///< 1 where both are 0
  double max_error() const { return max_error_; }
  /// Share of elements beyond what the codes stand for.
  double saturated() const;
  /// Share of the codes' range that the numbers span, 1 at most; nullopt without a grid.
  std::optional<double> grid_used() const;
  double lowest() const { return histogram_.min(); }
  double highest() const { return histogram_.max(); }
  /// What the codes stand for, all channels together.
  std::optional<Range> grid_range() const;
  const Histogram& histogram() const { return histogram_; }
  /// Of each channel the largest magnitude.
  const std::vector<double>& channels() const { return channels_; }
  /// The channels with the largest magnitudes, at most `most`; none of a tensor with fewer than four.
  std::vector<OutlierChannel> outliers(size_t most) const;

 private:
  struct Sums {
    double signal = 0, noise = 0, alone = 0, other = 0, dot = 0;
  };
  struct Step; ///< one scale with its codes
  class Steps;
  Step step_at(int64_t scale) const;
  void
  add_run(std::span<const float> wanted, std::span<const float> other, const Step& step, Sums& to);
  void add_channels(size_t inner, std::span<const float> x, size_t begin);
  static Status decode_codes(std::span<const float> codes,
                             size_t begin,
                             DType real,
                             const Steps& steps,
                             std::vector<float>& to);
  /// One of both may be absent: no other model; or numbers that are those of the codes.
  Status add_pieces(const Tensor* wanted, const Tensor* other, DType real, const Tensor* mask);

  std::string value_;
  std::optional<qdq::Grid> grid_;
  CodeRange codes_;
  int64_t axis_;
  int64_t elements_ = 0, left_out_ = 0, saturated_ = 0;
  Sums sums_;
  double max_error_ = 0;
  Histogram histogram_;
  std::vector<double> channels_;
};

/// The axis along which a tensor of this rank has its channels: 1 before convolutions, else the
/// last.
inline int64_t channel_axis(int64_t rank) {
  return rank >= 4 ? 1 : -1;
}

} // namespace octet
