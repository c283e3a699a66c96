// SPDX-License-Identifier: Apache-2.0
// Bits and calibrators of activations, from what is said of the layers that read them.
#pragma once

#include <map>
#include <span>

#include "octet/quantize.h"

namespace octet {

/// How one activation is stored.
struct ActivationFormat {
  NumberFormat format;
  int bits = 8;                         ///< of its codes
  std::optional<Calibrator> calibrator; ///< else the one of the options
};

/// Of every value that `nodes` (in topological order) read or make in codes, except what layers
/// make that move codes: that is as what they read, which in turn is as their readers say. The most
/// bits of the readers; of an output that none of them reads, what its own layer says. `bytes`: the
/// target's type of 8-bit codes. Errors: two readers want different formats, or name different
/// calibrators; a pattern that speaks of activations and decides on none.
Result<std::map<ValueId, ActivationFormat>> activation_formats(const Graph& graph,
                                                               std::span<const NodePlan> nodes,
                                                               const QuantizeOptions& options,
                                                               DType bytes);

} // namespace octet
