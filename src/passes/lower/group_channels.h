// SPDX-License-Identifier: Apache-2.0
// Gains and biases of groups of channels.
#pragma once

#include <vector>

#include "ops/shared/movement.h"

namespace octet::lowering {

/// A vector of groups as one of channels, whose number they divide: each element for every channel of
/// its group.
inline Tensor repeated_in_groups(const Tensor& groups, int64_t channels) {
  std::vector<int64_t> from(static_cast<size_t>(channels));
  for (int64_t c = 0; c < channels; ++c)
    from[static_cast<size_t>(c)] = c / (channels / groups.count());
  return take(groups, {channels}, from).value();
}

} // namespace octet::lowering
