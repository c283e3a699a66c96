// SPDX-License-Identifier: Apache-2.0
#include "certify/saturation.h"

#include <algorithm>

namespace octet {

PairBounds pair_bounds(int32_t v, int32_t w, int32_t lowest, int32_t highest) {
  PairBounds out;
  for (const int32_t weight : {v, w}) {
    out.high += std::max(weight * lowest, weight * highest);
    out.low += std::min(weight * lowest, weight * highest);
  }
  return out;
}

TwoSums add_up(std::span<const uint8_t> activations, std::span<const int8_t> weights) {
  TwoSums out;
  for (size_t k = 0; k < weights.size(); k += 2) {
    int32_t pair = activations[k] * weights[k];
    if (k + 1 < weights.size()) pair += activations[k + 1] * weights[k + 1];
    out.exact += pair;
    out.saturated += std::clamp(pair, -32768, 32767);
  }
  return out;
}

} // namespace octet
