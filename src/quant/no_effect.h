// SPDX-License-Identifier: Apache-2.0
// Patterns that leave nodes in float and change no number.
#pragma once

#include <string>
#include <vector>

#include "quant/placement.h"

#include "octet/quantize.h"

namespace octet {

struct NoEffect {
  std::string pattern; ///< of QuantizeOptions::exclude
  /// Nodes that read in codes what the pattern's nodes make; empty: these are in float anyway.
  std::vector<std::string> readers;
};

/// The patterns of `options.exclude` with which the same inputs are read through codes and the same
/// weights are stored as without them. `prepared` has types.
Result<std::vector<NoEffect>> excluded_without_effect(const Graph& prepared,
                                                      const Placement& placement,
                                                      const QuantizeOptions& options);

} // namespace octet
