// SPDX-License-Identifier: Apache-2.0
// What most observers ask of a span of numbers.
#pragma once

#include <span>

namespace octet {

struct Extremes {
  float lo = 0;
  float hi = 0;
};

/// The smallest and the largest of finite numbers; at least one. A zero may be of either sign.
Extremes extremes_of(std::span<const float> finite);

/// Whether none is NaN or infinite.
bool all_finite(std::span<const float> values);

} // namespace octet
