// SPDX-License-Identifier: Apache-2.0
// Ways to quantize a whole network that a search measures. A new one is a row of the table.
#pragma once

#include <span>
#include <string_view>

#include "octet/quantize.h"

namespace octet {

/// When a recipe is tried: always, where the default leaves operators in float and may be slower for
/// it than need be, where the default loses too much, where size counts, or where size counts and
/// the smallest network, of the same format, loses too much with all codes that are cheaper to find,
/// and layers in larger formats give much of its size away.
enum class RecipeUse : uint8_t { kDefault, kFaster, kCloser, kSmaller, kSmallerRounded };

struct Recipe {
  std::string_view name;
  RecipeUse use;
  QuantMode mode;
  std::string_view calibrator, weight_calibrator;
  std::string_view step;         ///< of step_names(); empty: none
  std::string_view weights = {}; ///< a number format; empty: int8

  bool learns() const { return step == "reconstruct"; } ///< through gradients
};

/// In the order in which they are tried.
std::span<const Recipe> recipes();
/// Null: there is none of that name.
const Recipe* find_recipe(std::string_view name);
/// The options with what the recipe chooses.
QuantizeOptions with_recipe(QuantizeOptions options, const Recipe& recipe);

} // namespace octet
