// SPDX-License-Identifier: Apache-2.0
// The networks of a search: each is planned and measured once, in this run or an earlier one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quant/search/layer_choices.h"
#include "quant/search/search.h"

namespace octet {

class Trials {
 public:
  explicit Trials(const SearchTask& task) : task_(task) {}

  /// The network as it came. It is measured whatever the budget says.
  Result<const SearchTrial*> float_network();
  /// Nullptr: the candidate cannot be, nothing of it is in codes, or the budget is spent.
  Result<const SearchTrial*> measure(const PlanCandidate& candidate);
  Result<HeldOut> check(const PlanCandidate& candidate);
  /// It is not measured from now on, if it was not yet.
  void leave_out(const PlanCandidate& candidate, std::string why);

  /// Of the recipe, with the layers as the candidate has them. The recipe was not left out.
  Result<QuantizationPlan> plan(const PlanCandidate& candidate);
  Result<Graph> quantized(const QuantizationPlan& plan) const;
  /// What the names of a plan are of.
  Result<Graph> prepared(const QuantizationPlan& plan) const;
  /// What may be chosen for single layers of a recipe.
  std::vector<const LayerChoice*> choices_of(const std::string& recipe) const;

  /// The cheapest of those that hold the bar and beat the float network, but for `refused`; nullptr:
  /// there is none.
  const SearchTrial* cheapest(const Bar& bar, const std::set<PlanCandidate>& refused) const;
  bool holds(const SearchTrial& trial, const Bar& bar) const;
  /// By the goal. Networks that are as fast are told apart by layers with activations in formats of
  /// their own, which gain nothing then, by their size, where that differs by more than
  /// kCostMargin, by the fewer layers that are changed, and by the noise.
  bool cheaper(const SearchTrial& a, const SearchTrial& b) const;
  bool beats_float(const SearchTrial& trial) const;
  /// Whether its predictions, or where they are about as good its outputs, are closer to what they
  /// should be.
  bool closer(const SearchTrial& a, const SearchTrial& b) const;
  /// What `a` takes beyond `b`: bytes where size is the goal, else milliseconds where they differ by
  /// more than measurements do, and otherwise the model's work, in the same unit.
  double extra_cost(const SearchTrial& a, const SearchTrial& b) const;
  /// Examples by which predictions of networks that are as good differ easily.
  int64_t coarse() const;

  bool budget_ended() const { return budget_ended_; }
  double seconds_left() const; ///< of the budget; infinite: there is none
  const std::vector<std::unique_ptr<SearchTrial>>& all() const { return trials_; }
  const std::vector<std::pair<std::string, std::string>>& left_out() const { return left_out_; }

 private:
  Result<const SearchTrial*> add(const PlanCandidate& candidate, const Measured& measured);
  /// nullopt: it cannot be, and `why`.
  Result<std::optional<Measured>> measure_now(const PlanCandidate& candidate, std::string& why);
  Result<const QuantizationPlan*> recipe_plan(const std::string& recipe);
  Result<QuantizationPlan> changed_plan(const PlanCandidate& candidate);
  /// Errors: the candidate is learned, and nothing learns here.
  Status ready_to_learn(const PlanCandidate& candidate);
  Status write_best();
  Status ask(const std::string& what) const;

  const SearchTask& task_;
  std::vector<std::unique_ptr<SearchTrial>> trials_;  ///< in the order of their measurement
  std::map<PlanCandidate, const SearchTrial*> known_; ///< nullptr: left out
  std::map<std::string, QuantizationPlan> plans_;     ///< of recipes
  std::optional<std::pair<PlanCandidate, QuantizationPlan>> latest_; ///< of others
  std::vector<std::pair<std::string, std::string>> left_out_;
  LearnRounding learn_rounding_;      ///< empty: no recipe has needed it
  const SearchTrial* best_ = nullptr; ///< of task_.bar
  bool written_ = false;              ///< the best one, by task_.improved
  double spent_seconds_ = 0;
  bool budget_ended_ = false;
};

/// A candidate in words.
std::string in_words(const PlanCandidate& candidate);

} // namespace octet
