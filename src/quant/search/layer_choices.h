// SPDX-License-Identifier: Apache-2.0
// What a search may do to single layers in place of putting them into float. A new one is a row of
// the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "quant/placement.h"

#include "octet/quantize.h"

namespace octet {

/// What differs for a layer from its network's recipe. Empty: as that has it.
struct LayerChoice {
  std::string_view name;
  std::string_view weights, activations; ///< number formats
  std::string_view calibrator;           ///< of what the layer reads
  bool dynamic;                          ///< it takes the ranges of what it reads at every run
  std::string_view step;                 ///< of step_names(), fitted for this layer alone

  bool codes_activations() const; ///< in a format of its own
  bool is_within_recipe() const;  ///< other numbers of the same format
  bool float_activations() const { return activations == "float"; }
};

/// In the order in which they are tried: by what they cost.
std::span<const LayerChoice> layer_choices();
/// Null: there is none of that name.
const LayerChoice* find_layer_choice(std::string_view name);

/// Whether the target has such layers, and a network that is planned with the options (a recipe's)
/// others.
bool can_choose(const LayerChoice& choice,
                const Placement& placement,
                const QuantizeOptions& options);
/// What planning is told of the node of that name.
LayerFormat format_of_layer(const LayerChoice& choice, QuantMode mode, const std::string& node);

} // namespace octet
