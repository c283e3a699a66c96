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
#include "quant/observers/extremes.h"
#include "quant/scheme.h"

namespace octet {

namespace {

constexpr size_t kChunk = 1024;

std::unique_ptr<ChannelObserver> make_channel(const Calibrator& calibrator, const Scheme& scheme) {
  struct Maker {
    const Scheme& scheme;
    std::unique_ptr<ChannelObserver> operator()(const MinMax&) const { return make_min_max(); }
    std::unique_ptr<ChannelObserver> operator()(const MovingAverage& m) const {
      return make_moving_average(m);
    }
    std::unique_ptr<ChannelObserver> operator()(const Percentile& p) const {
      return make_percentile(p, scheme);
    }
    std::unique_ptr<ChannelObserver> operator()(const Entropy&) const { return make_entropy(); }
    std::unique_ptr<ChannelObserver> operator()(const Mse&) const { return make_mse(scheme); }
  };
  return std::visit(Maker{scheme}, calibrator);
}

Status check_calibrator(const Calibrator& calibrator) {
  if (const auto* m = std::get_if<MovingAverage>(&calibrator)) {
    if (!(m->momentum >= 0.005 && m->momentum <= 1))
      return error("moving average: momentum {} is out of bounds, use 0.005 to 1", m->momentum);
  }
  if (const auto* p = std::get_if<Percentile>(&calibrator)) {
    if (!(p->p > 50 && p->p <= 100))
      return error("percentile: p = {} is out of bounds, use more than 50 and at most 100", p->p);
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
    if (run.size() >= kChunk) return to_.observe(run);
    if (used_ + run.size() > kChunk) flush();
    std::copy(run.begin(), run.end(), chunk_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += run.size();
  }

 private:
  void flush() {
    if (used_ > 0) to_.observe({chunk_.data(), used_});
    used_ = 0;
  }
  ChannelObserver& to_;
  std::array<float, kChunk> chunk_{};
  size_t used_ = 0;
};

} // namespace

std::string scheme_text(const Scheme& scheme) {
  if (!is_integer(scheme.type))
    return scheme.type == DType::kFloat8E5M2 ? "float8e5m2" : "float8e4m3fn";
  std::string out = scheme.type == DType::kUint8 ? "uint8" : "int8";
  out += scheme.symmetric ? " symmetric" : " asymmetric";
  if (scheme.narrow) out += " narrow";
  return scheme.bits < 8 ? out + fmt::format(" {} bits", scheme.bits) : out;
}

std::string name(const Calibrator& calibrator) {
  struct Namer {
    std::string operator()(const MinMax&) const { return "min-max"; }
    std::string operator()(const MovingAverage& m) const {
      return fmt::format("moving-average:{}", m.momentum);
    }
    std::string operator()(const Percentile& p) const { return fmt::format("percentile:{}", p.p); }
    std::string operator()(const Entropy&) const { return "entropy"; }
    std::string operator()(const Mse&) const { return "mse"; }
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
  else if (parameter)
    return error("calibrator \"{}\": only moving-average and percentile take a parameter", text);
  else if (kind == "min-max" || kind == "minmax")
    out = MinMax{};
  else if (kind == "entropy")
    out = Entropy{};
  else if (kind == "mse")
    out = Mse{};
  else
    return error("unknown calibrator \"{}\"; use min-max, moving-average[:momentum], "
                 "percentile[:p], entropy or mse",
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
  OCTET_TRY(check_batch(values, mask));
  const Floats floats = OCTET_TRY(Floats::of(values));
  const std::span<const float> x = floats.get();
  const Mask keep(values, mask);
  const bool finite = all_finite(x);
  for (size_t i = 0; i < x.size() && !finite; ++i)
    if (std::isnan(x[i]) && keep(static_cast<int64_t>(i)))
      return error("observer: element {} of shape {} is NaN; fix the input or the model", i,
                   to_string(values.shape()));

  const Layout layout = layout_of(values, axis_);
  if (channels_.empty())
    for (int64_t c = 0; c < layout.channels; ++c)
      channels_.push_back(make_channel(calibrator_, scheme_));
  for (int64_t c = 0; c < layout.channels; ++c) {
    ChannelObserver& channel = *channels_[static_cast<size_t>(c)];
    Feeder feeder(channel);
    for (int64_t o = 0; o < layout.outer; ++o) {
      int64_t i = (o * layout.channels + c) * layout.inner;
      for (const int64_t end = i + layout.inner; i < end;) {
        const int64_t begin = i;
        i = keep.run_end(begin, end);
        const std::span<const float> run =
            x.subspan(static_cast<size_t>(begin), static_cast<size_t>(i - begin));
        if (!keep(begin)) {
          masked_ += i - begin;
        } else if (finite) {
          observed_ += i - begin;
          feeder.put(run);
        } else {
          for (const float value : run) {
            const bool counts = !std::isinf(value);
            ++(counts ? observed_ : infinities_);
            if (counts) feeder.put(value);
          }
        }
      }
    }
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
      channels_.push_back(make_channel(calibrator_, scheme_));
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

size_t Observer::state_bytes() const {
  size_t sum = sizeof(*this);
  for (const auto& channel : channels_)
    sum += channel->state_bytes();
  return sum;
}

} // namespace octet
