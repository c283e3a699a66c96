// SPDX-License-Identifier: Apache-2.0
#include "quant/see/tensor_view.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/codec.h"
#include "core/convert.h"
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

/// So many elements are looked at together: what is converted stays in a cache. A multiple of 8, so
/// that codes of less than a byte begin at one.
constexpr size_t kPiece = size_t{1} << 17;

std::span<const std::byte> piece_of(const Tensor& tensor, size_t begin, size_t count) {
  const auto width = static_cast<size_t>(bits(tensor.type()));
  return tensor.bytes().subspan(begin * width / 8, (count * width + 7) / 8);
}

/// Elements `begin` and on, where they lie or converted into `room`.
Result<std::span<const float>>
floats_of(const Tensor& tensor, size_t begin, size_t count, std::vector<float>& room) {
  if (tensor.type() == DType::kFloat32 && tensor.is_aligned(alignof(float)))
    return tensor.data<float>().subspan(begin, count);
  if (bits(tensor.type()) == 0)
    return error("a tensor of type {} holds no numbers", name(tensor.type()));
  room.resize(count);
  OCTET_TRY(read_floats(tensor.type(), piece_of(tensor, begin, count), room));
  return std::span<const float>(room);
}

/// Begins and ends of what counts, in a tensor of which `x` begins at `begin`.
std::vector<std::pair<size_t, size_t>>
runs_of(std::span<const float> x, const Mask& keep, size_t begin) {
  std::vector<std::pair<size_t, size_t>> out;
  size_t from = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i]) && keep(static_cast<int64_t>(begin + i))) continue;
    if (i > from) out.emplace_back(from, i);
    from = i + 1;
  }
  if (x.size() > from) out.emplace_back(from, x.size());
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

/// The scale of each element of a tensor, with its codes.
class TensorView::Steps {
 public:
  static Result<Steps> of(const TensorView& view, const Shape& shape) {
    Steps out;
    out.one_ = view.step_at(0);
    if (!view.grid_ || view.grid_->per_tensor()) return out;
    out.layout_ = view.grid_->layout(shape);
    out.scales_ = OCTET_TRY(view.grid_->scale.to_floats());
    if (!view.grid_->zero.empty()) out.zeros_ = OCTET_TRY(view.grid_->zero.to_floats());
    return out;
  }

  /// Calls `run(step, from, to)` for elements of one step, from `begin` to `end`.
  template <class Run>
  void each(size_t begin, size_t end, Run&& run) const {
    if (!layout_) {
      run(one_, begin, end);
      return;
    }
    const QuantLayout& l = *layout_;
    const auto first = static_cast<int64_t>(begin), row = first / l.inner;
    int64_t within = first % l.inner, along = row % l.axis_size, outer = row / l.axis_size;
    for (size_t i = begin; i < end;) {
      // Scales of blocks differ along the inner axes too.
      const int64_t whole = l.inner_stride == 0 ? l.inner - within : 1;
      const int64_t length = std::min(whole, static_cast<int64_t>(end - i));
      const int64_t block = l.block == 1 ? along : along / l.block;
      run(step(outer * l.outer_stride + block * l.block_stride + within * l.inner_stride), i,
          i + static_cast<size_t>(length));
      i += static_cast<size_t>(length);
      within += length;
      if (within < l.inner) continue;
      within = 0;
      if (++along < l.axis_size) continue;
      along = 0;
      ++outer;
    }
  }

 private:
  Step step(int64_t scale) const {
    Step out = one_;
    out.scale = scales_[static_cast<size_t>(scale)];
    if (zeros_.size() > 1) out.zero = zeros_[static_cast<size_t>(scale)];
    return out;
  }

  Step one_;
  std::optional<QuantLayout> layout_;
  std::vector<float> scales_, zeros_;
};

void TensorView::add_run(std::span<const float> wanted,
                         std::span<const float> other,
                         const Step& step,
                         Sums& to) {
  const auto square = [](double v) { return v * v; };
  const float scale = grid_ ? step.scale : 1;
  for (size_t i = 0; i < other.size(); ++i) {
    const float x = wanted[i];
    const float y = (other[i] - step.zero) * scale;
    const double error = static_cast<double>(x) - static_cast<double>(y);
    to.other += square(y);
    to.dot += static_cast<double>(x) * static_cast<double>(y);
    to.noise += square(error);
    max_error_ = std::max(max_error_, std::fabs(error));
  }
  for (const float x : wanted) {
    to.signal += square(x);
    if (!grid_) continue;
    to.alone += square(static_cast<double>(x) - static_cast<double>(step.alone(x)));
    saturated_ += step.saturates(x) ? 1 : 0;
  }
}

/// `x`: the elements from `begin` on, of which `inner` side by side are of one channel.
void TensorView::add_channels(size_t inner, std::span<const float> x, size_t begin) {
  size_t channel = begin / inner % channels_.size(), left = inner - begin % inner;
  for (size_t i = 0; i < x.size(); left = inner) {
    const size_t stop = std::min(x.size(), i + left);
    float largest = 0;
    for (; i < stop; ++i)
      largest = std::max(largest, std::fabs(x[i]));
    channels_[channel] = std::max(channels_[channel], static_cast<double>(largest));
    channel = channel + 1 == channels_.size() ? 0 : channel + 1;
  }
}

Status TensorView::add(const Tensor& wanted, const Tensor& other, const Tensor* mask) {
  if (wanted.shape() != other.shape())
    return error("\"{}\" has shape {} in one model and {} in the other", value_,
                 to_string(wanted.shape()), to_string(other.shape()));
  return add_pieces(&wanted, &other, DType::kFloat32, mask);
}

Status TensorView::add_alone(const Tensor& numbers) {
  return add_pieces(&numbers, nullptr, DType::kFloat32, nullptr);
}

Status TensorView::add_codes(const Tensor& codes, DType real) {
  return add_pieces(nullptr, &codes, real, nullptr);
}

/// What the codes from element `begin` on stand for, as DequantizeLinear rounds it.
Status TensorView::decode_codes(std::span<const float> codes,
                                size_t begin,
                                DType real,
                                const Steps& steps,
                                std::vector<float>& to) {
  to.resize(codes.size());
  std::vector<double> exact(real == DType::kFloat32 ? 0 : codes.size());
  steps.each(begin, begin + codes.size(), [&](const Step& step, size_t from, size_t end) {
    for (size_t i = from - begin; i < end - begin; ++i) {
      const float off = codes[i] - step.zero;
      to[i] = off * step.scale;
      if (!exact.empty()) exact[i] = static_cast<double>(off) * static_cast<double>(step.scale);
    }
  });
  if (exact.empty()) return ok_status();
  const Tensor rounded = OCTET_TRY(Tensor::from_doubles(real, {std::ssize(codes)}, exact));
  return read_floats(real, rounded.bytes(), to);
}

Status
TensorView::add_pieces(const Tensor* wanted, const Tensor* other, DType real, const Tensor* mask) {
  const Tensor& shaped = wanted != nullptr ? *wanted : *other;
  if (shaped.count() == 0) return ok_status();
  const bool masked =
      mask != nullptr && mask->rank() <= shaped.rank() &&
      std::equal(mask->shape().begin(), mask->shape().end(), shaped.shape().begin());
  const Mask keep(shaped, masked ? mask : nullptr);
  const auto count = static_cast<size_t>(shaped.count());
  const size_t example = shaped.rank() > 1 ? count / static_cast<size_t>(shaped.dim(0)) : count;
  const Steps steps = OCTET_TRY(Steps::of(*this, shaped.shape()));
  const bool has_axis = axis_ < 0 ? -axis_ <= shaped.rank() : axis_ < shaped.rank();
  const Layout layout = layout_of(shaped, has_axis ? std::optional(axis_) : std::nullopt);
  if (channels_.empty()) channels_.resize(static_cast<size_t>(layout.channels));
  const auto inner = static_cast<size_t>(layout.inner);
  const bool same_channels = std::ssize(channels_) == layout.channels; // else an open size
  // Codes stand for what they stand for: without error, and within their range.
  const bool summed = wanted != nullptr && (grid_ || other != nullptr);
  const int64_t before = elements_;
  std::vector<float> room, other_room;
  Sums sums; // of one example
  size_t next_example = example;
  const auto close_example = [&](size_t at) {
    sums_.signal += sums.signal;
    sums_.noise += sums.noise;
    sums_.alone += sums.alone;
    sums_.other += sums.other;
    sums_.dot += sums.dot;
    sums = {};
    next_example = (at / example + 1) * example;
  };
  for (size_t begin = 0; begin < count; begin += kPiece) {
    const size_t n = std::min(kPiece, count - begin);
    std::span<const float> x, y;
    if (other != nullptr) y = OCTET_TRY(floats_of(*other, begin, n, other_room));
    if (wanted != nullptr) {
      x = OCTET_TRY(floats_of(*wanted, begin, n, room));
    } else {
      OCTET_TRY(decode_codes(y, begin, real, steps, room));
      x = room;
      y = {};
    }
    for (const auto& [from, end] : runs_of(x, keep, begin)) {
      for (size_t i = begin + from; summed && i < begin + end;) {
        if (i >= next_example) close_example(i);
        const size_t stop = std::min(begin + end, next_example);
        steps.each(i, stop, [&](const Step& step, size_t first, size_t last) {
          const size_t at = first - begin, length = last - first;
          add_run(x.subspan(at, length), y.empty() ? y : y.subspan(at, length), step, sums);
        });
        i = stop;
      }
      const std::span<const float> run = x.subspan(from, end - from);
      elements_ += std::ssize(run);
      histogram_.add(run);
      if (same_channels) add_channels(inner, run, begin + from);
    }
    if (wanted == nullptr || other == nullptr) shaped.page_out(piece_of(shaped, begin, n));
  }
  close_example(count - 1);
  left_out_ += shaped.count() - (elements_ - before);
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
