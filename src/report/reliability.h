// SPDX-License-Identifier: Apache-2.0
// Whether a classifier is right as often as its probabilities say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// Examples whose predicted class has a probability between two bounds.
struct ReliabilityBin {
  int64_t count = 0;
  double confidence = 0; ///< mean probability of the predicted class, 0 to 1
  double accuracy = 0;   ///< share that is right
};

struct Reliability {
  std::vector<ReliabilityBin> bins; ///< of equal width, from 0 to 1
  /// Mean of |accuracy - confidence| over the examples: the expected calibration error of Guo et
  /// al. (2017), section 2.
  double expected_error = 0;
};

/// `probabilities` is [example, class]; labels and predictions are one of each an example. Examples
/// with a probability that is NaN are left out.
Reliability reliability(std::span<const int64_t> labels,
                        std::span<const int64_t> predictions,
                        std::span<const float> probabilities,
                        int64_t bins = 10);

/// Accuracy over confidence as SVG for a page: a bar for each bin, a mark at its mean confidence,
/// and the line on which both are equal. `title` names it to who cannot see it.
std::string svg_of(const Reliability& reliability, const std::string& title);

} // namespace octet
