// SPDX-License-Identifier: Apache-2.0
// Histogram: counts of magnitudes, positive and negative apart, in a fixed number of bins whose
// width is a power of two. A value beyond the last bin doubles the width, and pairs of bins merge.
// The width is the smallest power of two that the largest magnitude fits in, so the state depends
// on the values alone and not on their order: merging two histograms is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quant/observers/extremes.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/observer.h"

namespace octet {

class Histogram {
 public:
  static constexpr int kBins = 1 << kBinsLog2;

  void add(std::span<const float> finite);
  /// The same of at least one number whose extremes are known.
  void add(std::span<const float> finite, Extremes extremes);
  void merge(const Histogram& other);

  int64_t count() const { return count_; }
  int64_t zeros() const { return zeros_; } ///< counted apart from bin 0
  double min() const { return min_; }      ///< smallest value, exact
  double max() const { return max_; }      ///< largest value, exact
  double max_magnitude() const;
  double width() const; ///< of a bin; 1 when every value was 0
  /// Bin i counts magnitudes in [i * width, (i + 1) * width), zeros left out; empty or kBins long.
  std::span<const uint64_t> positive() const { return positive_; }
  std::span<const uint64_t> negative() const { return negative_; }
  /// Both signs and the zeros together, up to the bin of the largest magnitude.
  std::vector<uint64_t> magnitudes() const;
  size_t state_bytes() const;
  /// {"extremes": [least, largest], "zeros": n, "positive": [bin, count, ...], "negative": [...]}:
  /// counts from the first bin that holds something to the last. The width follows from the extremes.
  nlohmann::ordered_json state() const;
  /// Becomes what gave the state. Errors: what no numbers leave behind.
  Status restore(const nlohmann::json& state);

 private:
  /// The smallest e with magnitude < kBins * 2^e.
  static int exponent_for(double magnitude);
  void widen(int exponent);
  void count(std::span<const float> some); ///< as wide as their magnitudes need
  void count_many(std::span<const float> many);

  int exponent_ = 0; ///< width = 2^exponent_
  bool has_width_ = false;
  int64_t count_ = 0;
  int64_t zeros_ = 0;
  double min_ = 0;
  double max_ = 0;
  std::vector<uint64_t> positive_, negative_;
};

} // namespace octet
