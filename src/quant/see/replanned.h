// SPDX-License-Identifier: Apache-2.0
// Steps of the stage `float` as remedies: they change the network before ranges are taken, so that
// the plan is made again, with and without them.
#pragma once

#include <string>
#include <vector>

#include "quant/held_back.h"
#include "quant/steps/step.h"

#include "octet/quantize.h"

namespace octet {

struct Replanned {
  std::string step;               ///< "smooth", "equalize"
  QuantizationPlan plan;          ///< with the steps
  std::vector<std::string> nodes; ///< whose weights they change
  double error = 0;               ///< of the outputs on the examples held back
  double error_without = 0;       ///< of the same plan without the steps
};

struct Replanning {
  const Graph& graph;    ///< as it came
  const Graph& prepared; ///< quant/prepare.h
  const Placement& placement;
  const QuantizationPlan& plan; ///< whose form is taken: bits, scales, layers in float
  const OpenCalibration& open;
  const QuantizeOptions& options; ///< executor, mask, threads, progress
  int64_t samples = 0;
  const HeldBack& held;
};

/// One for each of `steps` that takes some step. Static plans without steps of that stage only.
Result<std::vector<Replanned>> replanned_with(const Replanning& replanning,
                                              const std::vector<std::string>& steps);

} // namespace octet
