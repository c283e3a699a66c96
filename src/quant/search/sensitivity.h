// SPDX-License-Identifier: Apache-2.0
// What the codes of each layer cost and save.
#pragma once

#include <string>
#include <vector>

#include "quant/search/trials.h"

namespace octet {

struct LayerDamage {
  std::string node;
  double damage = 0; ///< points of accuracy; without labels the share of the noise
  double cost = 0;   ///< of the layer in float beside codes (Trials::extra_cost)
};

/// Whether a search decides about a node: it computes in codes, and is no mere move of them.
bool is_layer(const NodePlan& node);

/// Each layer of a network put back into float alone. Where the network is far from the float one,
/// so that no layer alone makes it good, damage is that of the layer in codes alone. Predictions
/// tell damage where they differ by more than Trials::coarse(), and otherwise the outputs' noise, of
/// which the network's loss has its share. Layers are missing where the budget ended.
Result<std::vector<LayerDamage>>
layer_damages(Trials& trials, const SearchTrial& base, int64_t examples);

/// By damage for each cost, then those that do none.
std::vector<LayerDamage> most_damage_first(std::vector<LayerDamage> layers, const Trials& trials);

} // namespace octet
