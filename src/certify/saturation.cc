// SPDX-License-Identifier: Apache-2.0
#include "certify/saturation.h"

#include <algorithm>

namespace octet {

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
