// SPDX-License-Identifier: Apache-2.0
#include "quant/observers/extremes.h"

#include "core/check.h"

namespace octet {

Extremes extremes_of(std::span<const float> finite) {
  const auto found = finite_extremes(finite);
  OCTET_CHECK(found.has_value());
  return *found;
}

std::optional<Extremes> finite_extremes(std::span<const float> values) {
  Extremes found;
  if (!observer_loops().extremes(values.data(), static_cast<int64_t>(values.size()), found))
    return std::nullopt;
  return Extremes{found.lo + 0.0F, found.hi + 0.0F}; // -0 becomes 0
}

} // namespace octet
