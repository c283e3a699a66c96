// SPDX-License-Identifier: Apache-2.0
// The calibrator `auto`: which ranges a plan takes, by the error of the network's outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quant/calibrate.h"
#include "quant/placement.h"

#include "octet/quantize.h"

namespace octet {

/// Ranges by each of kAutoCalibrators, in their order, by the name of a value.
using RangeChoices = std::map<std::string, std::vector<Range>>;

struct Choosing {
  const Graph& graph; ///< prepared, with types, behind the steps of the stage `float`
  const Placement& placement;
  const QuantizeOptions& options; ///< executor, mask
  const RangeChoices& choices;
  const HeldBack& held;
  /// By the name of a value: what was observed of it on the examples held back too. Of values that
  /// are not here the choices are all that is known.
  const std::map<std::string, Observer>& whole;
  /// By the name of a value that products with a bias read.
  const std::map<std::string, ObservedMeans>& means;
};

/// Gives each activation of the plan that there is a choice for the range with which the outputs of
/// the quantized network come closest to the float network's on the examples held back: one
/// calibrator for all is tried after the other, and the best of them with biases corrected by the
/// means of what was observed (where options.correct_biases leaves that open). Where the best of them errs by more than 1 % of the
/// outputs' power, operators that are in codes only since what they read is are tried in float, and
/// stay there if that halves the error; then other calibrators for parts of the network.
/// plan.trials says what was measured. How many trials there are depends on the numbers of examples
/// alone. Where the outputs collapse nevertheless, the layers that cost most stay in float where
/// that mends it (options.float_where_collapsed), or plan.costly names them. The ranges that the
/// plan ends with are those of the calibrators that were chosen, over all examples.
Status choose_ranges(const Choosing& choosing, QuantizationPlan& plan);

} // namespace octet
