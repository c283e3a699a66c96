// SPDX-License-Identifier: Apache-2.0
#include "quant/search/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "quant/held_back.h"

namespace octet {

namespace {

/// Of one network's noise in another's.
double share_of_noise(double part, double whole) {
  if (!std::isfinite(whole)) return std::isfinite(part) ? 0 : 1;
  return whole > 0 ? std::min(part / whole, 1.0) : 0;
}

bool is_far_off(const SearchTrial& base, double drop) {
  constexpr double kPoints = 10, kDecibels = 3;
  return drop > kPoints || decibels(base.measured.noise) < kDecibels;
}

class Sensitivity {
 public:
  Sensitivity(Trials& trials, const SearchTrial& base, int64_t examples)
      : trials_(trials), base_(base), as_float_(*trials.all().front()), examples_(examples),
        drop_(accuracy_points(as_float_.measured.right, base.measured.right, examples)),
        scale_(examples > 0 ? std::max(drop_, accuracy_points(trials.coarse(), 0, examples)) : 1) {}

  Result<std::vector<LayerDamage>> run() {
    const QuantizationPlan plan = OCTET_TRY(trials_.plan(base_.candidate));
    for (const NodePlan& node : plan.nodes)
      if (is_layer(node)) all_.insert(node.node);
    std::vector<LayerDamage> out;
    for (const NodePlan& node : plan.nodes) {
      if (!is_layer(node)) continue;
      const SearchTrial* without =
          OCTET_TRY(trials_.measure({base_.candidate.recipe, {node.node}}));
      if (trials_.budget_ended()) return out;
      LayerDamage layer{.node = node.node};
      layer.damage = without != nullptr ? damage_undone(*without) : scale_;
      layer.cost = trials_.extra_cost(without != nullptr ? *without : as_float_, base_);
      out.push_back(std::move(layer));
    }
    if (!is_far_off(base_, drop_) || out.size() < 2) return out;
    for (LayerDamage& layer : out) {
      PlanCandidate alone{base_.candidate.recipe, all_};
      alone.in_float.erase(layer.node);
      const SearchTrial* trial = OCTET_TRY(trials_.measure(alone));
      if (trials_.budget_ended()) return out;
      if (trial != nullptr) layer.damage = damage_done(*trial);
    }
    return out;
  }

 private:
  double damage_undone(const SearchTrial& without) const {
    const int64_t gain = without.measured.right - base_.measured.right;
    if (std::abs(gain) > trials_.coarse()) return accuracy_points(gain, 0, examples_);
    return scale_ * (1 - share_of_noise(without.measured.noise, base_.measured.noise));
  }

  double damage_done(const SearchTrial& alone) const {
    const int64_t loss = as_float_.measured.right - alone.measured.right;
    if (std::abs(loss) > trials_.coarse()) return accuracy_points(loss, 0, examples_);
    return scale_ * share_of_noise(alone.measured.noise, base_.measured.noise);
  }

  Trials& trials_;
  const SearchTrial &base_, &as_float_;
  int64_t examples_;
  double drop_, scale_;
  std::set<std::string> all_;
};

} // namespace

bool is_layer(const NodePlan& node) {
  return node.quantized && node.rule != Placed::kMoves && node.rule != Placed::kAbsorbed;
}

Result<std::vector<LayerDamage>>
layer_damages(Trials& trials, const SearchTrial& base, int64_t examples) {
  return Sensitivity(trials, base, examples).run();
}

std::vector<LayerDamage> most_damage_first(std::vector<LayerDamage> layers, const Trials& trials) {
  constexpr double kLeastShare =
      1e-3; // of the float network: what costs nothing is not for ever first
  const SearchTrial& as_float = *trials.all().front();
  const SearchTrial nothing{};
  const double least = kLeastShare * trials.extra_cost(as_float, nothing);
  const auto worth = [&](const LayerDamage& layer) {
    return layer.damage > 0 ? layer.damage / std::max({layer.cost, least, 1e-300}) : layer.damage;
  };
  std::stable_sort(layers.begin(), layers.end(),
                   [&](const LayerDamage& a, const LayerDamage& b) { return worth(a) > worth(b); });
  return layers;
}

} // namespace octet
