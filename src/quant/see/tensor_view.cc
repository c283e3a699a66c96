// SPDX-License-Identifier: Apache-2.0
#include "quant/see/tensor_view.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/codec.h"
#include "core/format.h"
#include "quant/channels.h"
#include "quant/held_back.h"

namespace octet {

namespace {

/// Half to even, as x + c - c rounds where all numbers are of one exponent: |x| is below 2^22. The
/// instruction that rounds is no part of what every x86-64 has.
float to_even(float x) {
  constexpr float kMagic = 0x1.8p23F;
  return (x + kMagic) - kMagic;
}

/// Begins and ends of what counts, none across two examples.
using CountedRuns = std::vector<std::pair<size_t, size_t>>;

CountedRuns runs_of(std::span<const float> x, const Mask& keep, size_t example) {
  CountedRuns out;
  for (size_t begin = 0; begin < x.size(); begin += example) {
    const size_t end = std::min(begin + example, x.size());
    size_t from = begin;
    for (size_t i = begin; i < end; ++i) {
      if (std::isfinite(x[i]) && keep(static_cast<int64_t>(i))) continue;
      if (i > from) out.emplace_back(from, i);
      from = i + 1;
    }
    if (end > from) out.emplace_back(from, end);
  }
  return out;
}

double ratio_db(double power, double noise) {
  return power > 0 ? decibels(noise / power) : decibels(noise > 0 ? 1 : 0);
}

} // namespace

/// Codes less the zero point, times the scale. Scale 0: numbers, not codes.
struct TensorView::Step {
  float scale = 0, zero = 0, low = 0, high = 0;
  const FloatFormat* format = nullptr; ///< codes of a floating format

  float alone(float x) const {
    const auto s = static_cast<double>(scale);
    if (format != nullptr)
      return static_cast<float>(decode(*format, encode(*format, static_cast<double>(x) / s)) * s);
    // Clamped in front of rounding: what lies half a step beyond goes to the last code either way.
    return to_even(std::clamp(x / scale, low - zero, high - zero)) * scale;
  }
  bool saturates(float x) const {
    if (format != nullptr) return std::fabs(x) > scale * static_cast<float>(max_finite(*format));
    const float at = x / scale + zero;
    return at < low - 0.5F || at > high + 0.5F;
  }
};

TensorView::Step TensorView::step_at(int64_t scale) const {
  Step out;
  if (!grid_) return out;
  out.scale = static_cast<float>(grid_->scale_at(scale));
  out.zero = static_cast<float>(grid_->zero_at(scale));
  out.low = static_cast<float>(codes_.lo);
  out.high = static_cast<float>(codes_.hi);
  if (!grid_->code_range()) out.format = float_format(grid_->codes);
  return out;
}

void TensorView::add_run(std::span<const float> wanted,
                         std::span<const float> other,
                         const Step& step,
                         Sums& to) {
  const auto square = [](double v) { return v * v; };
  const float scale = grid_ ? step.scale : 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const float x = wanted[i];
    const float y = (other[i] - step.zero) * scale;
    const double error = static_cast<double>(x) - static_cast<double>(y);
    to.signal += square(x);
    to.other += square(y);
    to.dot += static_cast<double>(x) * static_cast<double>(y);
    to.noise += square(error);
    max_error_ = std::max(max_error_, std::fabs(error));
    if (!grid_) continue;
    to.alone += square(static_cast<double>(x) - static_cast<double>(step.alone(x)));
    saturated_ += step.saturates(x) ? 1 : 0;
  }
  elements_ += static_cast<int64_t>(wanted.size());
}

void TensorView::add_channels(const Tensor& wanted,
                              std::span<const float> x,
                              std::span<const std::pair<size_t, size_t>> runs) {
  const bool has_axis = axis_ < 0 ? -axis_ <= wanted.rank() : axis_ < wanted.rank();
  const Layout layout = layout_of(wanted, has_axis ? std::optional(axis_) : std::nullopt);
  if (!channels_.empty() && std::ssize(channels_) != layout.channels) return; // an open size
  channels_.resize(static_cast<size_t>(layout.channels));
  const auto inner = static_cast<size_t>(layout.inner);
  for (const auto& [begin, end] : runs)
    for (size_t i = begin; i < end;) {
      const size_t stop = std::min(end, (i / inner + 1) * inner);
      double& largest = channels_[i / inner % channels_.size()];
      for (; i < stop; ++i)
        largest = std::max(largest, static_cast<double>(std::fabs(x[i])));
    }
}

Status TensorView::add(const Tensor& wanted, const Tensor& other, const Tensor* mask) {
  if (wanted.shape() != other.shape())
    return error("\"{}\" has shape {} in one model and {} in the other", value_,
                 to_string(wanted.shape()), to_string(other.shape()));
  if (wanted.count() == 0) return ok_status();
  const Floats first = OCTET_TRY(Floats::of(wanted));
  const std::vector<float> second = OCTET_TRY(other.to_floats());
  const std::span<const float> x = first.get(), y = second;
  const bool masked =
      mask != nullptr && mask->rank() <= wanted.rank() &&
      std::equal(mask->shape().begin(), mask->shape().end(), wanted.shape().begin());
  const size_t example =
      wanted.rank() > 1 ? x.size() / static_cast<size_t>(wanted.dim(0)) : x.size();
  const CountedRuns runs = runs_of(x, Mask(wanted, masked ? mask : nullptr), example);
  std::optional<QuantLayout> layout;
  if (grid_ && !grid_->per_tensor()) layout = grid_->layout(wanted.shape());
  int64_t before = elements_;
  for (size_t r = 0; r < runs.size();) {
    Sums sums; // of one example
    for (const size_t of = runs[r].first / example;
         r < runs.size() && runs[r].first / example == of; ++r) {
      const auto [begin, end] = runs[r];
      const size_t inner = layout ? static_cast<size_t>(layout->inner) : end;
      for (size_t i = begin; i < end;) {
        // Scales of blocks differ along the inner axes too.
        const bool one = !layout || layout->inner_stride == 0;
        const size_t stop = std::min(end, one ? (layout ? (i / inner + 1) * inner : end) : i + 1);
        int64_t scale = 0;
        if (layout) {
          const auto at = static_cast<int64_t>(i);
          const int64_t row = at / layout->inner;
          scale = layout->scale_index(row / layout->axis_size, row % layout->axis_size,
                                      at % layout->inner);
        }
        add_run(x.subspan(i, stop - i), y.subspan(i, stop - i), step_at(scale), sums);
        i = stop;
      }
      histogram_.add(x.subspan(begin, end - begin));
    }
    sums_.signal += sums.signal;
    sums_.noise += sums.noise;
    sums_.alone += sums.alone;
    sums_.other += sums.other;
    sums_.dot += sums.dot;
  }
  left_out_ += wanted.count() - (elements_ - before);
  add_channels(wanted, x, runs);
  return ok_status();
}

int TensorView::bits() const {
  if (!grid_ || codes_.hi <= codes_.lo) return 8;
  return static_cast<int>(std::bit_width(static_cast<uint32_t>(codes_.hi - codes_.lo)));
}

double TensorView::sqnr_db() const {
  return ratio_db(sums_.signal, sums_.noise);
}

std::optional<double> TensorView::sqnr_alone_db() const {
  return grid_ ? std::optional(ratio_db(sums_.signal, sums_.alone)) : std::nullopt;
}

double TensorView::cosine() const {
  const double both = std::sqrt(sums_.signal) * std::sqrt(sums_.other);
  if (both > 0) return sums_.dot / both;
  return sums_.signal == sums_.other ? 1 : 0;
}

double TensorView::saturated() const {
  return elements_ > 0 ? static_cast<double>(saturated_) / static_cast<double>(elements_) : 0;
}

std::optional<Range> TensorView::grid_range() const {
  if (!grid_) return std::nullopt;
  Range out{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (int64_t c = 0; c < grid_->count(); ++c) {
    const Step step = step_at(c);
    const double scale = grid_->scale_at(c),
                 most = step.format != nullptr ? max_finite(*step.format) : 0;
    out.lo = std::min(out.lo, step.format != nullptr ? -most * scale
                                                     : (codes_.lo - grid_->zero_at(c)) * scale);
    out.hi = std::max(out.hi, step.format != nullptr ? most * scale
                                                     : (codes_.hi - grid_->zero_at(c)) * scale);
  }
  return out;
}

std::optional<double> TensorView::grid_used() const {
  const auto range = grid_range();
  if (!range || elements_ == 0 || !(range->hi > range->lo)) return std::nullopt;
  // Symmetric codes of numbers of one sign leave half of them out, which nobody can help but
  // another scheme; the grid counts as it is.
  const double low = std::max(std::min(lowest(), 0.0), range->lo);
  const double high = std::min(std::max(highest(), 0.0), range->hi);
  return std::max(0.0, (high - low) / (range->hi - range->lo));
}

std::vector<OutlierChannel> TensorView::outliers(size_t most) const {
  constexpr size_t kFewest = 4;
  if (channels_.size() < kFewest) return {};
  std::vector<int64_t> order(channels_.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto at = [&](int64_t c) { return channels_[static_cast<size_t>(c)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at(a) > at(b); });
  const double median = at(order[order.size() / 2]);
  std::vector<OutlierChannel> out;
  for (size_t i = 0; i < std::min(most, order.size()); ++i)
    out.push_back({order[i], at(order[i]),
                   median > 0 ? at(order[i]) / median : std::numeric_limits<double>::infinity()});
  return out;
}

} // namespace octet
