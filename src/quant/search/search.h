// SPDX-License-Identifier: Apache-2.0
// Searches for the fastest (or smallest) way to quantize a network that loses no more than a bar
// allows. It makes plans; what networks do and how fast they are is measured by whoever hands that in. The course of
// a search follows from what was measured alone, which the journal holds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quant/placement.h"
#include "quant/search/journal.h"

#include "octet/dataset.h"
#include "octet/quantize.h"

namespace octet {

/// What a network was measured to do on the examples that the search sees.
struct Measured {
  int64_t right = 0; ///< predictions; 0 without labels
  double noise = 0;  ///< of the outputs beside the float network's: squared error over power
  double ms = 0;     ///< of one run; 0: not measured
  double work = 0;   ///< of one run by the cost model: multiply-adds, each by what its format costs
  int64_t bytes = 0; ///< of its constants; whoever measures need not fill it in
  double seconds = 0; ///< that planning and measuring took
};

/// The same network beside the float one on examples held out of the search.
struct HeldOut {
  int64_t examples = 0;
  int64_t right_float = 0, right = 0; ///< predictions; 0 without labels
  double drop = 0;                    ///< points of accuracy lost
  double drop_low = 0, drop_high = 0; ///< its 95 % interval, paired
  double p_value = 1;                 ///< that networks as good as each other differ so much
  double noise = 0;
};

/// What a network may lose.
struct Bar {
  std::optional<double> max_drop; ///< points of accuracy
  std::optional<double> min_sqnr; ///< of the outputs, decibels
};

enum class Goal : uint8_t { kSpeed, kSize };

enum class CostBy : uint8_t {
  kMeasured, ///< milliseconds; the model where two differ by no more than kCostMargin
  kModel,
};
/// Share of the time by which networks differ more than measurements do.
inline constexpr double kCostMargin = 0.03;

struct SearchTask {
  const Graph& graph; ///< float
  const Placement& placement;
  const Dataset& calibration;
  QuantizeOptions options; ///< target, patterns, samples; recipes choose the rest
  Bar bar;
  int64_t examples = 0;      ///< that `measure` looks at; 0: they have no labels
  double budget_seconds = 0; ///< of trials, 0: no end
  CostBy costs = CostBy::kMeasured;
  Goal goal = Goal::kSpeed;
  /// Products of activations in float read stored weights as they are, so that these make them no
  /// slower; else such layers are looked at for size alone.
  bool reads_codes = false;
  /// Gives what recipes that learn need (QuantizeOptions::learn_rounding). It may have to be loaded,
  /// and is asked for before such a recipe is tried. Empty, or an error: such recipes are left out.
  std::function<Result<LearnRounding>()> learner = {};
  Journal& journal;
  /// A network beside the float one, or (nullptr twice) that one. `seconds` need not be filled in.
  /// kRefused: the target does not take it.
  std::function<Result<Measured>(const Graph* quantized, const Measured* as_float)> measure;
  std::function<Result<HeldOut>(const Graph& quantized)> check;
  /// Takes the best network so far, before its final check. Nullptr: the float network.
  std::function<Status(const Graph* quantized)> improved;
  /// Called before each measurement; false stops the search, which its journal lets go on.
  std::function<bool(int64_t trials, const std::string& what)> progress;
};

struct SearchTrial {
  PlanCandidate candidate;
  Measured measured;
  bool holds = false;  ///< the bar on the examples of the search
  bool pareto = false; ///< no trial is faster (or smaller) and closer to the float network
};

/// What one layer costs in codes, and why it is what it is.
struct LayerFinding {
  std::string node, op, format; ///< format_text() of changed_plan.h
  /// Points of accuracy (without labels: share of the noise) that go with its codes; nullopt: it was
  /// not looked at.
  std::optional<double> damage;
  /// Of float beside codes: milliseconds, of the model's work, or bytes where size is the goal.
  std::optional<double> cost;
  std::string why;
};

struct SearchResult {
  PlanCandidate chosen; ///< of the recipe "float": nothing in codes is better
  std::optional<QuantizationPlan> plan;
  std::optional<Graph> quantized;
  Measured float_network, measured;
  std::optional<HeldOut> held_out; ///< of what was chosen; none was looked at: nullopt
  int64_t checks = 0;              ///< networks that were looked at on held-out examples
  std::vector<SearchTrial> trials; ///< the float network first
  std::vector<LayerFinding> layers;
  std::vector<std::pair<std::string, std::string>> left_out; ///< recipes, and why
  bool budget_ended = false;
  std::string why;
};

/// Errors: what planning and measuring say, cancellation. A recipe that cannot be used here is left
/// out.
Result<SearchResult> search_plan(const SearchTask& task);

/// 100 (a - b) / examples.
double accuracy_points(int64_t a, int64_t b, int64_t examples);
/// Whether what was measured on held-out examples does not contradict the bar.
bool holds(const Bar& bar, const HeldOut& held_out);

} // namespace octet
