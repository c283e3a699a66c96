// SPDX-License-Identifier: Apache-2.0
// Observer: cuts a tensor into channels, leaves out padding and infinities, and hands the rest to
// the channels' observers.
#include "octet/observer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "core/string_util.h"
#include "quant/channels.h"
#include "quant/observers/channel.h"
#include "quant/observers/histogram_ranges.h"
#include "quant/scheme.h"

namespace octet {

namespace {

constexpr size_t kChunk = 1024;

Status check_calibrator(const Calibrator& calibrator) {
  if (const auto* m = std::get_if<MovingAverage>(&calibrator)) {
    if (!(m->momentum >= 0.005 && m->momentum <= 1))
      return error("moving average: momentum {} is out of bounds, use 0.005 to 1", m->momentum);
  }
  if (const auto* p = std::get_if<Percentile>(&calibrator)) {
    if (!(p->p > 50 && p->p <= 100))
      return error("percentile: p = {} is out of bounds, use more than 50 and at most 100", p->p);
  }
  if (const auto* m = std::get_if<Mse>(&calibrator)) {
    if (!(m->clipped >= 1 && m->clipped <= 1000))
      return error("mse: what is clipped cannot count {} times, use 1 to 1000", m->clipped);
  }
  return ok_status();
}

/// Collects finite values and hands them on in chunks, long runs as they lie.
class Feeder {
 public:
  explicit Feeder(ChannelObserver& to) : to_(to) {}
  ~Feeder() { flush(); }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;
  void put(float x) {
    chunk_[used_++] = x;
    if (used_ == kChunk) flush();
  }
  void put(std::span<const float> run) {
    if (run.size() >= kChunk) return to_.observe(run, extremes_of(run));
    if (used_ + run.size() > kChunk) flush();
    std::copy(run.begin(), run.end(), chunk_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += run.size();
  }

 private:
  void flush() {
    const std::span<const float> used{chunk_.data(), used_};
    if (used_ > 0) to_.observe(used, extremes_of(used));
    used_ = 0;
  }
  ChannelObserver& to_;
  std::array<float, kChunk> chunk_{};
  size_t used_ = 0;
};

/// The place among the elements of a tensor of one that lies at `at` in `stored`, whose axis i is
/// axis axes[i] of the tensor.
int64_t source_place(int64_t at, const Shape& stored, std::span<const int64_t> axes) {
  std::vector<int64_t> place(axes.size()), size(axes.size());
  for (size_t i = axes.size(); i-- > 0; at /= std::max<int64_t>(stored[i], 1)) {
    place[static_cast<size_t>(axes[i])] = at % stored[i];
    size[static_cast<size_t>(axes[i])] = stored[i];
  }
  int64_t out = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    out = out * size[i] + place[i];
  return out;
}

Shape source_shape(const Shape& stored, std::span<const int64_t> axes) {
  Shape out = stored;
  for (size_t i = 0; i < axes.size(); ++i)
    out[static_cast<size_t>(axes[i])] = stored[i];
  return out;
}

/// The first NaN that counts, in the order of the tensor.
std::optional<int64_t> first_nan(std::span<const float> x,
                                 const Mask& keep,
                                 const Shape& shape,
                                 std::span<const int64_t> axes) {
  std::optional<int64_t> first;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (!std::isnan(x[i]) || !keep(at)) continue;
    const int64_t place = axes.empty() ? at : source_place(at, shape, axes);
    first = std::min(first.value_or(place), place);
  }
  return first;
}

struct Counts {
  int64_t observed = 0, infinities = 0, masked = 0;
};

/// Hands each channel those of its elements that count; `finite`: all are.
Counts feed(std::span<const std::unique_ptr<ChannelObserver>> channels,
            std::span<const float> x,
            const Layout& layout,
            const Mask& keep,
            bool finite) {
  Counts out;
  for (int64_t c = 0; c < layout.channels; ++c) {
    Feeder feeder(*channels[static_cast<size_t>(c)]);
    for (int64_t o = 0; o < layout.outer; ++o) {
      int64_t i = (o * layout.channels + c) * layout.inner;
      for (const int64_t end = i + layout.inner; i < end;) {
        const int64_t begin = i;
        i = keep.run_end(begin, end);
        const std::span<const float> run =
            x.subspan(static_cast<size_t>(begin), static_cast<size_t>(i - begin));
        if (!keep(begin)) {
          out.masked += i - begin;
        } else if (finite) {
          out.observed += i - begin;
          feeder.put(run);
        } else {
          for (const float value : run) {
            const bool counts = !std::isinf(value);
            ++(counts ? out.observed : out.infinities);
            if (counts) feeder.put(value);
          }
        }
      }
    }
  }
  return out;
}

} // namespace

std::unique_ptr<ChannelObserver> make_channel_observer(const Calibrator& calibrator,
                                                       const Scheme& scheme) {
  if (std::holds_alternative<MinMax>(calibrator)) return make_min_max();
  if (const auto* average = std::get_if<MovingAverage>(&calibrator))
    return make_moving_average(*average);
  return make_histogram_observer(calibrator, scheme);
}

std::string scheme_text(const Scheme& scheme) {
  std::string out = name(format_of(scheme, 0));
  if (!is_integer(scheme.type)) return out;
  out += scheme.symmetric ? " symmetric" : " asymmetric";
  if (scheme.narrow) out += " narrow";
  return scheme.bits < bits(scheme.type) ? out + fmt::format(" {} bits", scheme.bits) : out;
}

std::string name(const Calibrator& calibrator) {
  struct Namer {
    std::string operator()(const MinMax&) const { return "min-max"; }
    std::string operator()(const MovingAverage& m) const {
      return fmt::format("moving-average:{}", m.momentum);
    }
    std::string operator()(const Percentile& p) const { return fmt::format("percentile:{}", p.p); }
    std::string operator()(const Entropy&) const { return "entropy"; }
    std::string operator()(const Mse& m) const {
      return m.clipped == 1 ? "mse" : fmt::format("mse:{}", m.clipped);
    }
    std::string operator()(const Auto&) const { return "auto"; }
  };
  return std::visit(Namer{}, calibrator);
}

Result<Calibrator> parse_calibrator(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::optional<double> parameter;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    parameter = decimal_number(digits);
    if (!parameter) return error("calibrator \"{}\": \"{}\" is not a number", text, digits);
  }
  Calibrator out;
  if (kind == "moving-average")
    out = MovingAverage{parameter.value_or(MovingAverage{}.momentum)};
  else if (kind == "percentile")
    out = Percentile{parameter.value_or(Percentile{}.p)};
  else if (kind == "mse")
    out = Mse{parameter.value_or(Mse{}.clipped)};
  else if (parameter)
    return error("calibrator \"{}\": only moving-average, percentile and mse take a parameter",
                 text);
  else if (kind == "min-max" || kind == "minmax")
    out = MinMax{};
  else if (kind == "entropy")
    out = Entropy{};
  else if (kind == "auto")
    out = Auto{};
  else
    return error("unknown calibrator \"{}\"; use min-max, moving-average[:momentum], "
                 "percentile[:p], entropy, mse[:weight of what is clipped] or auto",
                 text);
  OCTET_TRY(check_calibrator(out));
  return out;
}

Observer::Observer(Observer&&) noexcept = default;
Observer& Observer::operator=(Observer&&) noexcept = default;
Observer::~Observer() = default;

Result<Observer>
Observer::create(const Calibrator& calibrator, const Scheme& scheme, std::optional<int64_t> axis) {
  OCTET_TRY(check_calibrator(calibrator));
  OCTET_TRY(check_scheme(scheme));
  if (std::holds_alternative<Entropy>(calibrator) && !has_entropy_levels(scheme))
    return error("entropy: its 128 levels are those of 8-bit codes, not of {}; use min-max, "
                 "percentile or mse",
                 scheme_text(scheme));
  Observer out;
  out.calibrator_ = calibrator;
  out.scheme_ = scheme;
  out.axis_ = axis;
  return out;
}

Status Observer::check_batch(const Tensor& values, const Tensor* mask) const {
  OCTET_TRY(octet::check_batch(values, mask, axis_));
  if (axis_ && !channels_.empty()) {
    const int64_t channels = layout_of(values, axis_).channels;
    if (channels != static_cast<int64_t>(channels_.size()))
      return error("observer: {} channels, {} before", channels, channels_.size());
  }
  return ok_status();
}

Status Observer::observe(const Tensor& values, const Tensor* mask) {
  return take(values, {}, mask);
}

Status Observer::observe_stored(const Tensor& stored, std::span<const int64_t> axes) {
  if (axis_ && !axes.empty())
    return error("observer: one range for each index of an axis needs the order of the tensor");
  return take(stored, axes, nullptr);
}

Status Observer::take(const Tensor& values, std::span<const int64_t> axes, const Tensor* mask) {
  OCTET_TRY(check_batch(values, mask));
  const Floats floats = OCTET_TRY(Floats::of(values));
  const std::span<const float> x = floats.get();
  const Mask keep(values, mask);
  const auto extremes = x.empty() ? std::nullopt : finite_extremes(x);
  if (!extremes)
    if (const auto nan = first_nan(x, keep, values.shape(), axes))
      return error("observer: element {} of shape {} is NaN; fix the input or the model", *nan,
                   to_string(source_shape(values.shape(), axes)));

  const Layout layout = layout_of(values, axis_);
  if (channels_.empty())
    for (int64_t c = 0; c < layout.channels; ++c)
      channels_.push_back(make_channel_observer(calibrator_, scheme_));
  if (extremes && mask == nullptr && !axis_) {
    channels_[0]->observe(x, *extremes);
    observed_ += std::ssize(x);
  } else {
    const Counts counts = feed(channels_, x, layout, keep, extremes.has_value());
    observed_ += counts.observed;
    infinities_ += counts.infinities;
    masked_ += counts.masked;
  }
  for (const auto& channel : channels_)
    channel->end_batch();
  return ok_status();
}

Status Observer::merge(const Observer& other) {
  if (calibrator_ != other.calibrator_ || scheme_ != other.scheme_ || axis_ != other.axis_)
    return error("observers of different kinds cannot be merged: {} on {}, and {} on {}",
                 name(calibrator_), scheme_text(scheme_), name(other.calibrator_),
                 scheme_text(other.scheme_));
  if (other.channels_.empty()) return ok_status();
  if (channels_.empty())
    for (size_t c = 0; c < other.channels_.size(); ++c)
      channels_.push_back(make_channel_observer(calibrator_, scheme_));
  if (channels_.size() != other.channels_.size())
    return error("observers of {} and of {} channels cannot be merged", channels_.size(),
                 other.channels_.size());
  for (size_t c = 0; c < channels_.size(); ++c)
    channels_[c]->merge(*other.channels_[c]);
  observed_ += other.observed_;
  infinities_ += other.infinities_;
  masked_ += other.masked_;
  return ok_status();
}

Result<std::vector<Range>> Observer::ranges() const {
  if (observed_ == 0)
    return error("observer: nothing finite was observed ({} infinities, {} masked)", infinities_,
                 masked_);
  std::vector<Range> out;
  out.reserve(channels_.size());
  for (const auto& channel : channels_)
    out.push_back(channel->range());
  return out;
}

Result<std::vector<Range>> Observer::ranges_by(const Calibrator& other) const {
  if (std::holds_alternative<MovingAverage>(other))
    return error(
        "observer: a moving average needs the order of batches, not what a histogram holds");
  OCTET_TRY(check_calibrator(other));
  OCTET_TRY(ranges());
  std::vector<Range> out;
  out.reserve(channels_.size());
  for (const auto& channel : channels_) {
    const Histogram* histogram = channel->histogram();
    if (histogram == nullptr)
      return error("observer: {} keeps no histogram, which {} needs", name(calibrator_),
                   name(other));
    out.push_back(histogram_range(*histogram, other, scheme_));
  }
  return out;
}

size_t Observer::state_bytes() const {
  size_t sum = sizeof(*this);
  for (const auto& channel : channels_)
    sum += channel->state_bytes();
  return sum;
}

} // namespace octet
