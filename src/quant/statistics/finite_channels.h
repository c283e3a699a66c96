// SPDX-License-Identifier: Apache-2.0
// One batch as statistics of channels see it: checked, in f32, without what a mask leaves out.
#pragma once

#include <cmath>

#include "quant/channels.h"
#include "quant/observers/extremes.h"
#include "quant/statistics/long_sum.h"

namespace octet {

class FiniteChannels {
 public:
  /// Errors: no floats, an axis out of range, another number of channels, a mask that does not fit,
  /// a number that counts and is not finite.
  static Result<FiniteChannels>
  of(const Tensor& values, const Tensor* mask, int64_t axis, size_t channels) {
    OCTET_TRY(check_batch(values, mask, axis));
    FiniteChannels out(values, mask, axis, OCTET_TRY(Floats::of(values)));
    if (out.layout_.channels != static_cast<int64_t>(channels))
      return error("observer: {} channels, {} expected", out.layout_.channels, channels);
    const std::span<const float> x = out.floats_.get();
    if (x.empty() || finite_extremes(x)) return out;
    for (size_t i = 0; i < x.size(); ++i)
      if (!std::isfinite(x[i]) && out.keep_(static_cast<int64_t>(i)))
        return error("observer: element {} of shape {} is {}; fix the input or the model", i,
                     to_string(values.shape()), x[i]);
    return out;
  }

  /// visit(channel, x) for each element that counts.
  template <class Visit>
  void each(const Visit& visit) const {
    const std::span<const float> x = floats_.get();
    int64_t at = 0;
    for (int64_t o = 0; o < layout_.outer; ++o)
      for (int64_t c = 0; c < layout_.channels; ++c)
        for (int64_t i = 0; i < layout_.inner; ++i, ++at)
          if (keep_(at)) visit(static_cast<size_t>(c), x[static_cast<size_t>(at)]);
  }

 private:
  FiniteChannels(const Tensor& values, const Tensor* mask, int64_t axis, Floats floats)
      : layout_(layout_of(values, axis)), keep_(values, mask), floats_(std::move(floats)) {}

  Layout layout_;
  Mask keep_;
  Floats floats_;
};

/// Sums as i64 [channels, digits].
inline Tensor digits_of(const std::vector<LongSum>& sums) {
  std::vector<int64_t> all;
  for (const LongSum& sum : sums) {
    const LongSum::Digits digits = sum.digits();
    all.insert(all.end(), digits.begin(), digits.end());
  }
  return Tensor::of<int64_t>({static_cast<int64_t>(sums.size()), LongSum::kDigits},
                             std::span<const int64_t>(all));
}

} // namespace octet
