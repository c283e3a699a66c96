// SPDX-License-Identifier: Apache-2.0
#include "quant/search/layer_choices.h"

#include <algorithm>

#include "quant/format_rules.h"
#include "quant/steps/step.h"

namespace octet {

namespace {

// Products of FP8 and of 16-bit activations are fast where the target has them, and else in float,
// which the search finds out with one network for all layers. Weights alone are for products that
// wait for memory, and for size.
constexpr LayerChoice kLayerChoices[] = {
    {"gptq", "", "", "", false, "gptq"},
    {"adaround", "", "", "", false, "adaround"},
    {"correct-bias", "", "", "", false, "correct-bias"},
    {"min-max", "", "", "min-max", false, ""},
    {"percentile", "", "", "percentile", false, ""},
    {"entropy", "", "", "entropy", false, ""},
    {"mse", "", "", "mse", false, ""},
    {"dynamic", "", "", "", true, ""},
    {"fp8", "fp8-e4m3fn", "fp8-e4m3fn", "min-max", false, ""},
    {"int16-activations", "", "int16", "min-max", false, ""},
    {"int4-weights", "int4/32", "float", "", false, ""},
    {"int8-weights", "int8", "float", "", false, ""},
    {"fp8-weights", "fp8-e4m3fn", "float", "", false, ""},
};

StepStage stage_of(std::string_view step) {
  for (const StepAlgorithm& algorithm : step_algorithms())
    if (algorithm.name == step) return algorithm.stage;
  return StepStage::kFloat;
}

bool can_fit(std::string_view step, const QuantizeOptions& options) {
  const StepStage stage = stage_of(step);
  const bool weights_alone = stage == StepStage::kWeights;
  return (weights_alone || options.mode == QuantMode::kStatic) &&
         std::none_of(options.steps.begin(), options.steps.end(), [&](const std::string& taken) {
           return taken == step || (weights_alone && stage_of(taken) == stage);
         });
}

} // namespace

bool LayerChoice::codes_activations() const {
  return !activations.empty() && activations != "float";
}

bool LayerChoice::is_within_recipe() const {
  return weights.empty() && activations.empty() && !dynamic;
}

std::span<const LayerChoice> layer_choices() {
  return kLayerChoices;
}

const LayerChoice* find_layer_choice(std::string_view name) {
  const auto* found = std::find_if(std::begin(kLayerChoices), std::end(kLayerChoices),
                                   [&](const LayerChoice& choice) { return choice.name == name; });
  return found == std::end(kLayerChoices) ? nullptr : found;
}

bool can_choose(const LayerChoice& choice,
                const Placement& placement,
                const QuantizeOptions& options) {
  const bool is_static = options.mode == QuantMode::kStatic;
  if (!is_static && (choice.dynamic || choice.codes_activations() || !choice.calibrator.empty()))
    return false;
  if (!choice.step.empty() && !can_fit(choice.step, options)) return false;
  const LayerFormat format = format_of_layer(choice, options.mode, "");
  // Where activations are no matter of the plan the weights must be others than the recipe's.
  if (!is_static && choice.step.empty() &&
      format.weights == options.weights.value_or(NumberFormat{}))
    return false;
  QuantizeOptions with = options;
  with.layers.push_back(format);
  if (!choice.step.empty()) with.steps.emplace_back(choice.step);
  return check_formats(placement, with).ok();
}

LayerFormat format_of_layer(const LayerChoice& choice, QuantMode mode, const std::string& node) {
  LayerFormat out{.pattern = node};
  out.exact = true;
  out.dynamic = choice.dynamic;
  // Names of a table that the tests go through.
  if (!choice.weights.empty()) out.weights = parse_number_format(choice.weights).value();
  if (!choice.activations.empty() && mode == QuantMode::kStatic)
    out.activations = parse_number_format(choice.activations).value();
  if (!choice.calibrator.empty()) out.calibrator = parse_calibrator(choice.calibrator).value();
  return out;
}

} // namespace octet
