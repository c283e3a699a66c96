// SPDX-License-Identifier: Apache-2.0
// Whole networks first. Where none of them holds the bar: what each layer costs, then layers in float,
// those first that cost most accuracy for the time that their codes save, back into codes what
// turns out not to matter, and into other codes what these do not spoil. Codes that take long to find
// for all weights are looked for where size counts and all that has not done. What is found is looked at
// on held-out examples once; where they contradict it the search goes on with a stricter bar, twice.
#include "quant/search/search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/format.h"
#include "core/string_util.h"
#include "quant/held_back.h"
#include "quant/search/changed_plan.h"
#include "quant/search/recipes.h"
#include "quant/search/sensitivity.h"
#include "quant/search/trials.h"

namespace octet {

namespace {

class Search {
 public:
  explicit Search(const SearchTask& task) : task_(task), trials_(task) {}

  Result<SearchResult> run() {
    const SearchTrial& as_float = *OCTET_TRY(trials_.float_network());
    out_.float_network = as_float.measured;
    const SearchTrial* chosen = nullptr;
    for (int strictness = 0; strictness < kStrictnesses && chosen == nullptr; ++strictness) {
      const Bar bar = stricter(strictness);
      OCTET_TRY(find(bar));
      const SearchTrial* found = trials_.cheapest(bar, refused_);
      if (found == nullptr) {
        why_not(strictness);
        break;
      }
      const HeldOut check = OCTET_TRY(trials_.check(found->candidate));
      ++out_.checks;
      if (octet::holds(task_.bar, check)) {
        chosen = found;
        out_.held_out = check;
      } else {
        refused_.insert(found->candidate);
        out_.held_out = of_float(check);
      }
    }
    OCTET_TRY(finish(chosen != nullptr ? *chosen : as_float));
    return std::move(out_);
  }

 private:
  static constexpr int kStrictnesses = 3;

  /// The layers of a recipe's network.
  struct TakenApart {
    std::vector<LayerDamage> layers;
    QuantizationPlan plan;
    Graph prepared; ///< what its names are of
  };

  /// The float network on the examples on which another one was looked at.
  static HeldOut of_float(const HeldOut& beside) {
    return {.examples = beside.examples,
            .right_float = beside.right_float,
            .right = beside.right_float};
  }

  Bar stricter(int strictness) const {
    constexpr double kShare[kStrictnesses] = {1, 0.5, 0};
    constexpr double kDecibels = 3;
    Bar out = task_.bar;
    if (out.max_drop) *out.max_drop *= kShare[strictness];
    if (out.min_sqnr) *out.min_sqnr += kDecibels * strictness;
    return out;
  }

  void why_not(int strictness) {
    if (strictness > 0 || trials_.budget_ended()) return;
    bool any = false;
    for (const auto& trial : trials_.all())
      any |= trial != trials_.all().front() && trials_.holds(*trial, task_.bar);
    out_.why = any ? fmt::format("what holds the bar is no {} than the float network",
                                 task_.goal == Goal::kSize ? "smaller" : "faster")
                   : "no network with layers in codes holds the bar";
  }

  /// Measures until a network holds the bar and is faster, or nothing is left to try.
  Status find(const Bar& bar) {
    if (task_.goal == Goal::kSize) return find_smaller(bar);
    const SearchTrial* simple = OCTET_TRY(trials_.measure({std::string(recipes().front().name)}));
    const bool enough = simple != nullptr && good(*simple, bar);
    OCTET_TRY(try_recipes(enough ? RecipeUse::kFaster : RecipeUse::kCloser, simple));
    for (const auto& trial : trials_.all())
      if (is_recipe(*trial) && good(*trial, bar) && trials_.beats_float(*trial)) return ok_status();
    const SearchTrial* base = closest_recipe();
    return base == nullptr ? ok_status() : put_in_float(*base, bar);
  }

  /// From the smallest network there is, by layers that become larger. Where that gives much of it
  /// away other codes for all its weights may save some.
  Status find_smaller(const Bar& bar) {
    const SearchTrial* smallest = nullptr;
    for (const Recipe& recipe : recipes()) {
      if (recipe.use != RecipeUse::kDefault && recipe.use != RecipeUse::kSmaller) continue;
      const SearchTrial* trial = OCTET_TRY(trials_.measure({std::string(recipe.name)}));
      if (trial != nullptr && trials_.beats_float(*trial) &&
          (smallest == nullptr || trials_.cheaper(*trial, *smallest)))
        smallest = trial;
    }
    if (smallest == nullptr || good(*smallest, bar)) return ok_status();
    OCTET_TRY(put_in_float(*smallest, bar));
    const SearchTrial* found = trials_.cheapest(bar, refused_);
    if (found != nullptr && is_as_small(*found, *smallest)) return ok_status();
    const SearchTrial* closest = OCTET_TRY(try_roundings(*smallest, bar));
    if (closest == smallest || good(*closest, bar)) return ok_status();
    return put_in_float(*closest, bar);
  }

  static bool is_as_small(const SearchTrial& trial, const SearchTrial& smallest) {
    return static_cast<double>(trial.measured.bytes) <=
           (1 + kCostMargin) * static_cast<double>(smallest.measured.bytes);
  }

  /// Other codes for the weights of a network of nearest ones, by what they take to find, until some
  /// hold the bar: the last that was tried then, else the closest of all.
  Result<const SearchTrial*> try_roundings(const SearchTrial& nearest, const Bar& bar) {
    const Recipe& base = *find_recipe(nearest.candidate.recipe);
    const SearchTrial *closest = &nearest, *last = nullptr;
    bool gains = false;
    for (const Recipe& recipe : recipes()) {
      if (recipe.use != RecipeUse::kSmallerRounded || recipe.mode != base.mode ||
          recipe.weights != base.weights)
        continue;
      const PlanCandidate candidate{std::string(recipe.name)};
      if (last != nullptr)
        if (const std::string why = not_worth_it(*last, gains); !why.empty())
          trials_.leave_out(candidate, why);
      const SearchTrial* trial = OCTET_TRY(trials_.measure(candidate));
      if (trial == nullptr) continue;
      if (good(*trial, bar)) return trial;
      constexpr double kDecibels = 0.1;
      gains |= decibels(trial->measured.noise) >= decibels(nearest.measured.noise) + kDecibels;
      if (trials_.closer(*trial, *closest)) closest = trial;
      last = trial;
    }
    return closest;
  }

  /// Why codes that are dearer to find than the last that were tried are not looked for; empty: they
  /// are.
  std::string not_worth_it(const SearchTrial& last, bool gains) const {
    const std::string& recipe = last.candidate.recipe;
    if (!gains)
      return fmt::format("with {} the outputs are no closer than with nearest codes", recipe);
    const double left = trials_.seconds_left(), least = last.measured.seconds;
    if (left <= 0 || left >= least) return "";
    return fmt::format("it takes longer than {}, which took {:.0f} s, and the budget has {:.0f} s "
                       "left",
                       recipe, least, left);
  }

  /// Of a whole network in codes.
  bool is_recipe(const SearchTrial& trial) const {
    return &trial != trials_.all().front().get() && trial.candidate.is_recipe();
  }

  bool good(const SearchTrial& trial, const Bar& bar) const {
    return trials_.holds(trial, bar) && !refused_.contains(trial.candidate);
  }

  /// Faster ones can only be where the default left something in float.
  Status try_recipes(RecipeUse use, const SearchTrial* simple) {
    if (use == RecipeUse::kFaster && !OCTET_TRY(leaves_in_float(*simple))) return ok_status();
    for (const Recipe& recipe : recipes())
      if (recipe.use == use) OCTET_TRY(trials_.measure({std::string(recipe.name)}));
    return ok_status();
  }

  Result<bool> leaves_in_float(const SearchTrial& trial) {
    const QuantizationPlan plan = OCTET_TRY(trials_.plan(trial.candidate));
    return std::any_of(plan.nodes.begin(), plan.nodes.end(),
                       [](const NodePlan& node) { return node.rule == Placed::kCostsAccuracy; });
  }

  /// Of those that are faster than the float network: with layers in float they would not become so.
  const SearchTrial* closest_recipe() const {
    const SearchTrial* best = nullptr;
    for (const auto& trial : trials_.all()) {
      if (!is_recipe(*trial) || !trials_.beats_float(*trial)) continue;
      if (best == nullptr || trials_.closer(*trial, *best)) best = trial.get();
    }
    return best;
  }

  Status put_in_float(const SearchTrial& base, const Bar& bar) {
    latest_ = base.candidate.recipe;
    if (!apart_.contains(latest_)) {
      TakenApart parts{.layers = OCTET_TRY(layer_damages(trials_, base, task_.examples)),
                       .plan = OCTET_TRY(trials_.plan(base.candidate)),
                       .prepared = {}};
      parts.prepared = OCTET_TRY(trials_.prepared(parts.plan));
      apart_.emplace(latest_, std::move(parts));
    }
    const std::vector<LayerDamage> order = most_damage_first(apart_.at(latest_).layers, trials_);
    const auto first = [&](size_t count) {
      PlanCandidate out{base.candidate.recipe};
      for (size_t i = 0; i < count; ++i)
        out.in_float.insert(order[i].node);
      return out;
    };
    // Twice as many until they do, then the fewest that do.
    size_t fails = 0, does = 0;
    for (size_t count = 1; fails < order.size() && does == 0; count *= 2) {
      count = std::min(count, order.size());
      const SearchTrial* trial = OCTET_TRY(trials_.measure(first(count)));
      if (trial == nullptr && trials_.budget_ended()) return ok_status();
      // With all of them nothing may be left in codes: the float network holds any bar.
      const bool holds = trial != nullptr ? good(*trial, bar) : count == order.size();
      (holds ? does : fails) = count;
    }
    if (does == 0) return ok_status();
    while (does - fails > 1) {
      const size_t middle = fails + (does - fails) / 2;
      const SearchTrial* trial = OCTET_TRY(trials_.measure(first(middle)));
      if (trial == nullptr && trials_.budget_ended()) return ok_status();
      (trial != nullptr && good(*trial, bar) ? does : fails) = middle;
    }
    PlanCandidate current = first(does);
    OCTET_TRY(win_back(current, std::span(order).first(does), bar));
    return choose_codes(std::move(current), bar);
  }

  /// Layers go back into codes where the bar still holds, first those that save most.
  Status win_back(PlanCandidate& current, std::span<const LayerDamage> in_float, const Bar& bar) {
    constexpr int kPasses = 2;
    std::vector<LayerDamage> order(in_float.begin(), in_float.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const LayerDamage& a, const LayerDamage& b) { return a.cost > b.cost; });
    const SearchTrial* best = OCTET_TRY(trials_.measure(current));
    for (int pass = 0; pass < kPasses && best != nullptr; ++pass) {
      bool changed = false;
      for (const LayerDamage& layer : order) {
        PlanCandidate fewer = current;
        if (fewer.in_float.erase(layer.node) == 0 || fewer.in_float.empty()) continue;
        const SearchTrial* trial = OCTET_TRY(trials_.measure(fewer));
        if (trial == nullptr || !good(*trial, bar) || trials_.cheaper(*best, *trial)) continue;
        current = std::move(fewer);
        best = trial;
        changed = true;
      }
      if (!changed) break;
    }
    return ok_status();
  }

  /// Layers in float take codes of another kind where the bar still holds and something is saved:
  /// all of them together, or else one by one.
  Status choose_codes(PlanCandidate current, const Bar& bar) {
    const SearchTrial* best = OCTET_TRY(trials_.measure(current));
    for (const LayerChoice* choice : trials_.choices_of(current.recipe)) {
      if (best == nullptr || current.in_float.empty()) break;
      const std::vector<std::string> layers(current.in_float.begin(), current.in_float.end());
      const PlanCandidate all = with_choice(current, layers, *choice);
      const SearchTrial* trial = OCTET_TRY(trials_.measure(all));
      if (trials_.budget_ended()) break;
      if (trial != nullptr && !trials_.cheaper(*trial, *best)) continue;
      if (trial != nullptr && good(*trial, bar)) {
        current = all;
        best = trial;
        continue;
      }
      for (const std::string& layer : layers) {
        if (layers.size() == 1 || !current.in_float.contains(layer)) continue;
        const PlanCandidate one = with_choice(current, {layer}, *choice);
        trial = OCTET_TRY(trials_.measure(one));
        if (trial == nullptr || !good(*trial, bar) || !trials_.cheaper(*trial, *best)) continue;
        current = one;
        best = trial;
      }
    }
    return ok_status();
  }

  /// A value has one format, so that one of activations is for all products that read it in codes.
  PlanCandidate with_choice(PlanCandidate candidate,
                            const std::vector<std::string>& layers,
                            const LayerChoice& choice) const {
    const TakenApart& whole = apart_.at(candidate.recipe);
    for (const std::string& layer : layers) {
      candidate.in_float.erase(layer);
      candidate.choices[layer] = choice.name;
      if (!choice.codes_activations()) continue;
      for (const std::string& reader : readers_with(whole.prepared, whole.plan, layer))
        if (!candidate.in_float.contains(reader)) candidate.choices[reader] = choice.name;
    }
    return candidate;
  }

  Status finish(const SearchTrial& chosen) {
    out_.chosen = chosen.candidate;
    out_.measured = chosen.measured;
    out_.budget_ended = trials_.budget_ended();
    out_.left_out = trials_.left_out();
    if (&chosen != trials_.all().front().get()) {
      out_.plan = OCTET_TRY(trials_.plan(chosen.candidate));
      out_.why =
          chosen.candidate.is_recipe()
              ? fmt::format("recipe {}, every layer that it has in codes", chosen.candidate.recipe)
              : in_words(chosen.candidate);
    } else if (out_.checks > 0) {
      out_.why = "what held the bar in the search did not hold it on the held-out examples";
    } else if (out_.budget_ended) {
      out_.why =
          fmt::format("the budget ended before a network was found that holds the bar and is {}",
                      task_.goal == Goal::kSize ? "smaller" : "faster");
    }
    OCTET_TRY(tell_layers());
    if (out_.plan) {
      for (NodePlan& node : out_.plan->nodes)
        for (const LayerFinding& layer : out_.layers)
          if (layer.node == node.node && is_changed(node.node)) node.why = layer.why;
      out_.quantized = OCTET_TRY(trials_.quantized(*out_.plan));
    }
    for (const auto& trial : trials_.all())
      out_.trials.push_back(*trial);
    mark_pareto();
    return ok_status();
  }

  bool is_changed(const std::string& layer) const {
    return out_.chosen.in_float.contains(layer) || out_.chosen.choices.contains(layer);
  }

  /// Of the chosen network; of the float one where that is kept, with what was found on the way.
  Status tell_layers() {
    if (!out_.plan && (latest_.empty() || apart_.at(latest_).layers.empty())) return ok_status();
    const std::string recipe = out_.plan ? out_.chosen.recipe : latest_;
    const QuantizationPlan base = OCTET_TRY(trials_.plan({recipe}));
    const Graph prepared = OCTET_TRY(trials_.prepared(base));
    for (const NodePlan& node : base.nodes)
      if (is_layer(node) || node.rule == Placed::kCostsAccuracy)
        out_.layers.push_back(finding(prepared, recipe, node));
    return ok_status();
  }

  LayerFinding finding(const Graph& prepared, const std::string& recipe, const NodePlan& node) {
    const NodePlan* now = out_.plan ? out_.plan->node(node.node) : nullptr;
    const auto choice = out_.chosen.choices.find(node.node);
    LayerFinding layer{.node = node.node,
                       .op = node.op,
                       .format = now != nullptr ? format_text(prepared, *out_.plan, *now) : "float",
                       .damage = std::nullopt,
                       .cost = std::nullopt,
                       .why = now != nullptr ? now->why : out_.why};
    const bool chosen = choice != out_.chosen.choices.end();
    if (chosen && find_layer_choice(choice->second)->is_within_recipe())
      layer.format += ", " + choice->second;
    const auto apart = apart_.find(recipe);
    if (apart == apart_.end()) return layer;
    const std::vector<LayerDamage>& layers = apart->second.layers;
    const auto found = std::find_if(layers.begin(), layers.end(), [&](const LayerDamage& damage) {
      return damage.node == node.node;
    });
    if (found == layers.end()) return layer;
    layer.damage = found->damage;
    layer.cost = found->cost;
    if (now != nullptr && (now->quantized || is_changed(node.node)))
      layer.why = reason(*found) + (chosen ? fmt::format("; {} does instead", choice->second) : "");
    return layer;
  }

  std::string reason(const LayerDamage& layer) const {
    const std::string damage = task_.bar.max_drop && task_.examples > 0
                                   ? fmt::format("{:.2f} points of accuracy", layer.damage)
                                   : fmt::format("{:.0f} % of the noise", 100 * layer.damage);
    const std::string cost =
        task_.goal == Goal::kSize ? fmt::format("{:.1f} kB", layer.cost / 1000)
        : task_.costs == CostBy::kMeasured
            ? fmt::format("{:.4f} ms", layer.cost)
            : fmt::format("{:.1f} % of the float network's work",
                          out_.float_network.work > 0 ? 100 * layer.cost / out_.float_network.work
                                                      : 0.0);
    return fmt::format("the recipe's codes cost {} and save {}", damage, cost);
  }

  void mark_pareto() {
    const auto cost = [&](const Measured& m) {
      if (task_.goal == Goal::kSize) return static_cast<double>(m.bytes);
      return task_.costs == CostBy::kModel ? m.work : m.ms;
    };
    const auto no_worse = [&](const Measured& a, const Measured& b) {
      return cost(a) <= cost(b) &&
             (a.right > b.right || (a.right == b.right && a.noise <= b.noise));
    };
    for (SearchTrial& trial : out_.trials)
      trial.pareto =
          std::none_of(out_.trials.begin(), out_.trials.end(), [&](const SearchTrial& other) {
            return no_worse(other.measured, trial.measured) &&
                   !no_worse(trial.measured, other.measured);
          });
  }

  const SearchTask& task_;
  Trials trials_;
  SearchResult out_;
  std::set<PlanCandidate> refused_;         ///< by held-out examples
  std::map<std::string, TakenApart> apart_; ///< by recipe
  std::string latest_;                      ///< the recipe that was taken apart last
};

} // namespace

Result<SearchResult> search_plan(const SearchTask& task) {
  return Search(task).run();
}

} // namespace octet
