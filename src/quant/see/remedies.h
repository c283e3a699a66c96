// SPDX-License-Identifier: Apache-2.0
// What would help a layer: changes of its plan, each measured on examples held back.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/choose.h"
#include "quant/see/layers.h"
#include "quant/see/trials.h"
#include "quant/steps/step.h"

namespace octet {

/// What remedies are made of. All of it outlives their use.
struct RemedySource {
  const PlanTrials& trials;
  /// Of each activation of the plan by each of kAutoCalibrators; those that are missing keep theirs.
  RangeChoices ranges;
  OpenCalibration open;    ///< for steps; empty: none are tried
  QuantizeOptions options; ///< executor, mask, threads and progress of the steps' passes
  int64_t samples = 0;
};

/// One change of a plan.
struct Remedy {
  std::string name;  ///< "calibrator", "per-channel", "keep-float", ...
  std::string words; ///< "percentile for \"relu1\""
  std::function<Result<QuantizationPlan>(const QuantizationPlan&)> change;
};

/// The names of those that leave layers in float: the layer, or those that read what it makes.
constexpr std::string_view kKeepFloat = "keep-float", kReadersInFloat = "readers-in-float";
constexpr bool is_in_float(std::string_view remedy) {
  return remedy == kKeepFloat || remedy == kReadersInFloat;
}

/// Those that there are for a layer, in the order in which equals are taken: what costs nothing
/// first, float last.
Result<std::vector<Remedy>>
remedies_for(const RemedySource& source, const QuantizationPlan& plan, const QuantizedLayer& layer);

/// A remedy as it was measured.
struct MeasuredRemedy {
  Remedy remedy;
  double error = 0; ///< of the outputs with it
  double gain_db = 0;
};

/// The one of most use, and all of them in their order; none where nothing gains a tenth of a
/// decibel. Float counts as the best only where nothing else takes back four fifths of the error
/// that it does, and the readers' only where the layer's own gains nothing. `error`: of the outputs with `plan` on these examples.
struct Prescription {
  std::optional<MeasuredRemedy> best;
  std::vector<MeasuredRemedy> all;
};
Result<Prescription> prescribe(PlanTrials& trials,
                               std::vector<Remedy> remedies,
                               const QuantizationPlan& plan,
                               double error,
                               const HeldBack& examples);

} // namespace octet
