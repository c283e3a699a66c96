// SPDX-License-Identifier: Apache-2.0
#include "quant/search/recipes.h"

#include <algorithm>

namespace octet {

namespace {

constexpr QuantMode kStatic = QuantMode::kStatic, kWeightOnly = QuantMode::kWeightOnly;

constexpr Recipe kRecipes[] = {
    {"default", RecipeUse::kDefault, kStatic, "auto", "min-max", ""},
    {"min-max", RecipeUse::kFaster, kStatic, "min-max", "min-max", ""},
    {"percentile", RecipeUse::kFaster, kStatic, "percentile", "min-max", ""},
    {"entropy", RecipeUse::kFaster, kStatic, "entropy", "min-max", ""},
    {"mse", RecipeUse::kFaster, kStatic, "mse", "min-max", ""},
    {"clipped-weights", RecipeUse::kCloser, kStatic, "auto", "mse", ""},
    {"smooth", RecipeUse::kCloser, kStatic, "auto", "min-max", "smooth"},
    {"outliers", RecipeUse::kCloser, kStatic, "auto", "min-max", "outliers"},
    {"equalize", RecipeUse::kCloser, kStatic, "auto", "min-max", "equalize"},
    {"correct-bias", RecipeUse::kCloser, kStatic, "auto", "min-max", "correct-bias"},
    {"reestimate-bn", RecipeUse::kCloser, kStatic, "auto", "min-max", "reestimate-bn"},
    {"dynamic", RecipeUse::kCloser, QuantMode::kDynamic, "min-max", "min-max", ""},
    {"seq-mse", RecipeUse::kCloser, kStatic, "auto", "min-max", "seq-mse"},
    {"gptq", RecipeUse::kCloser, kStatic, "auto", "min-max", "gptq"},
    {"adaround", RecipeUse::kCloser, kStatic, "auto", "min-max", "adaround"},
    {"int4-weights", RecipeUse::kSmaller, kWeightOnly, "min-max", "min-max", "", "int4/32"},
    {"int8-weights", RecipeUse::kSmaller, kWeightOnly, "min-max", "min-max", ""},
    // By what they take to fit.
    {"int4-gptq", RecipeUse::kSmallerRounded, kWeightOnly, "min-max", "min-max", "gptq", "int4/32"},
    {"int4-adaround", RecipeUse::kSmallerRounded, kWeightOnly, "min-max", "min-max", "adaround",
     "int4/32"},
    {"int4-reconstruct", RecipeUse::kSmallerRounded, kWeightOnly, "min-max", "min-max",
     "reconstruct", "int4/32"},
};

} // namespace

std::span<const Recipe> recipes() {
  return kRecipes;
}

const Recipe* find_recipe(std::string_view name) {
  const auto* found = std::find_if(std::begin(kRecipes), std::end(kRecipes),
                                   [&](const Recipe& recipe) { return recipe.name == name; });
  return found == std::end(kRecipes) ? nullptr : found;
}

QuantizeOptions with_recipe(QuantizeOptions options, const Recipe& recipe) {
  options.mode = recipe.mode;
  // Names of a table that the tests go through.
  options.calibrator = parse_calibrator(recipe.calibrator).value();
  options.weight_calibrator = parse_calibrator(recipe.weight_calibrator).value();
  options.float_where_collapsed = false; // which layers are in float is what the search finds
  if (!recipe.weights.empty()) options.weights = parse_number_format(recipe.weights).value();
  options.steps.clear();
  if (!recipe.step.empty()) options.steps.emplace_back(recipe.step);
  return options;
}

} // namespace octet
