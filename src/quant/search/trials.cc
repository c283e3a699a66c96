// SPDX-License-Identifier: Apache-2.0
#include "quant/search/trials.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/sizes.h"
#include "quant/apply.h"
#include "quant/held_back.h"
#include "quant/plan.h"
#include "quant/prepare.h"
#include "quant/search/changed_plan.h"
#include "quant/search/recipes.h"

namespace octet {

namespace {

constexpr const char* kTrial = "trial";
constexpr const char* kCheck = "check";
constexpr const char* kLeftOut = "left out";

double number_in(const JournalEntry& entry, const char* key) {
  const auto found = entry.numbers.find(key);
  return found == entry.numbers.end() ? 0 : found->second;
}

int64_t count_in(const JournalEntry& entry, const char* key) {
  constexpr double kMost = 1e15;
  const double value = number_in(entry, key);
  return value >= 0 && value <= kMost ? static_cast<int64_t>(value) : 0;
}

Measured measured_of(const JournalEntry& entry) {
  return {.right = count_in(entry, "right"),
          .noise = number_in(entry, "noise"),
          .ms = number_in(entry, "ms"),
          .work = number_in(entry, "work"),
          .bytes = count_in(entry, "bytes"),
          .seconds = number_in(entry, "seconds")};
}

JournalEntry entry_of(const PlanCandidate& candidate, const Measured& m) {
  return {kTrial,
          candidate,
          {{"right", static_cast<double>(m.right)},
           {"noise", m.noise},
           {"ms", m.ms},
           {"work", m.work},
           {"bytes", static_cast<double>(m.bytes)},
           {"seconds", m.seconds}}};
}

HeldOut held_out_of(const JournalEntry& entry) {
  return {.examples = count_in(entry, "examples"),
          .right_float = count_in(entry, "right_float"),
          .right = count_in(entry, "right"),
          .drop = number_in(entry, "drop"),
          .drop_low = number_in(entry, "drop_low"),
          .drop_high = number_in(entry, "drop_high"),
          .p_value = number_in(entry, "p_value"),
          .noise = number_in(entry, "noise")};
}

JournalEntry entry_of(const PlanCandidate& candidate, const HeldOut& h) {
  return {kCheck,
          candidate,
          {{"examples", static_cast<double>(h.examples)},
           {"right_float", static_cast<double>(h.right_float)},
           {"right", static_cast<double>(h.right)},
           {"drop", h.drop},
           {"drop_low", h.drop_low},
           {"drop_high", h.drop_high},
           {"p_value", h.p_value},
           {"noise", h.noise}}};
}

bool is_within(const Bar& bar, double drop, double noise) {
  constexpr double kRounding = 1e-9; // of points that were computed from counts
  if (bar.max_drop && drop > *bar.max_drop + kRounding) return false;
  return !bar.min_sqnr || decibels(noise) >= *bar.min_sqnr;
}

/// Layers that have activations in a format of its own; it is looked at where they save nothing.
int64_t in_vain(const PlanCandidate& candidate) {
  return std::count_if(candidate.choices.begin(), candidate.choices.end(), [](const auto& choice) {
    const LayerChoice* known = find_layer_choice(choice.second);
    return known != nullptr && known->codes_activations();
  });
}

/// Of a recipe: it cannot be used here. Other errors end the search.
bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::kRefused || error.code() == ErrorCode::kUnsupported;
}

} // namespace

std::string in_words(const PlanCandidate& candidate) {
  std::string out = candidate.recipe;
  if (!candidate.in_float.empty()) {
    const std::vector<std::string> names(candidate.in_float.begin(), candidate.in_float.end());
    out +=
        fmt::format(", {} in float: {}", counted(std::ssize(names), "layer"), join_some(names, 3));
  }
  std::map<std::string, std::vector<std::string>> by_choice;
  for (const auto& [layer, choice] : candidate.choices)
    by_choice[choice].push_back(layer);
  for (const auto& [choice, names] : by_choice)
    out += fmt::format(", {} by {}: {}", counted(std::ssize(names), "layer"), choice,
                       join_some(names, 3));
  return out;
}

double accuracy_points(int64_t a, int64_t b, int64_t examples) {
  return examples > 0 ? 100 * static_cast<double>(a - b) / static_cast<double>(examples) : 0;
}

bool holds(const Bar& bar, const HeldOut& held_out) {
  return is_within(bar, held_out.drop, held_out.noise);
}

Status Trials::ask(const std::string& what) const {
  if (task_.progress && !task_.progress(std::ssize(trials_), what))
    return Error("stopped; the same command goes on where it was", ErrorCode::kCancelled);
  return ok_status();
}

Result<const SearchTrial*> Trials::add(const PlanCandidate& candidate, const Measured& measured) {
  trials_.push_back(std::make_unique<SearchTrial>(SearchTrial{candidate, measured, false, false}));
  SearchTrial& trial = *trials_.back();
  known_[candidate] = &trial;
  spent_seconds_ += measured.seconds;
  trial.holds = holds(trial, task_.bar);
  const bool is_float = trials_.size() == 1;
  if (is_float || (trial.holds && beats_float(trial) &&
                   (best_ == trials_.front().get() || cheaper(trial, *best_)))) {
    best_ = &trial;
    written_ = false;
  }
  return &trial;
}

Result<const SearchTrial*> Trials::float_network() {
  const PlanCandidate candidate{"float", {}};
  if (const JournalEntry* entry = task_.journal.find(kTrial, candidate))
    return add(candidate, measured_of(*entry));
  OCTET_TRY(ask(candidate.recipe));
  const auto begin = std::chrono::steady_clock::now();
  Measured measured = OCTET_TRY(task_.measure(nullptr, nullptr));
  measured.bytes = constant_bytes(task_.graph);
  measured.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  OCTET_TRY(task_.journal.append(entry_of(candidate, measured)));
  const SearchTrial* out = OCTET_TRY(add(candidate, measured));
  OCTET_TRY(write_best());
  return out;
}

Status Trials::write_best() {
  if (written_) return ok_status();
  const bool is_float = best_ == trials_.front().get();
  if (is_float) {
    OCTET_TRY(task_.improved(nullptr));
  } else {
    const Graph best = OCTET_TRY(quantized(OCTET_TRY(plan(best_->candidate))));
    OCTET_TRY(task_.improved(&best));
  }
  written_ = true;
  return ok_status();
}

void Trials::leave_out(const PlanCandidate& candidate, std::string why) {
  if (!known_.try_emplace(candidate, nullptr).second) return;
  if (candidate.is_recipe()) left_out_.emplace_back(candidate.recipe, std::move(why));
}

double Trials::seconds_left() const {
  return task_.budget_seconds > 0 ? task_.budget_seconds - spent_seconds_
                                  : std::numeric_limits<double>::infinity();
}

Status Trials::ready_to_learn(const PlanCandidate& candidate) {
  const Recipe* recipe = find_recipe(candidate.recipe);
  if (recipe == nullptr || !recipe->learns() || learn_rounding_) return ok_status();
  if (!task_.learner)
    return Error("it learns through gradients, and nothing that trains was handed in",
                 ErrorCode::kUnsupported);
  learn_rounding_ = OCTET_TRY(task_.learner());
  return ok_status();
}

Result<const SearchTrial*> Trials::measure(const PlanCandidate& candidate) {
  if (const auto found = known_.find(candidate); found != known_.end()) return found->second;
  // Time is that of the journal, so that a search that is resumed ends where it would have ended.
  if (seconds_left() <= 0) {
    budget_ended_ = true;
    return nullptr;
  }
  // Not written down: it is a matter of the build, and another one goes on with the same journal.
  if (const Status ready = ready_to_learn(candidate); !ready.ok()) {
    leave_out(candidate, ready.error().text());
    return nullptr;
  }
  if (const JournalEntry* entry = task_.journal.find(kTrial, candidate))
    return add(candidate, measured_of(*entry));
  if (const JournalEntry* entry = task_.journal.find(kLeftOut, candidate)) {
    spent_seconds_ += number_in(*entry, "seconds");
    leave_out(candidate, entry->why);
    return nullptr;
  }
  OCTET_TRY(write_best()); // of the run before
  OCTET_TRY(ask(in_words(candidate)));
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::string why;
  std::optional<Measured> measured = OCTET_TRY(measure_now(candidate, why));
  if (!measured) {
    const double took = seconds();
    spent_seconds_ += took;
    OCTET_TRY(task_.journal.append({kLeftOut, candidate, {{"seconds", took}}, why}));
    leave_out(candidate, why);
    return nullptr;
  }
  measured->seconds = seconds();
  OCTET_TRY(task_.journal.append(entry_of(candidate, *measured)));
  const SearchTrial* out = OCTET_TRY(add(candidate, *measured));
  OCTET_TRY(write_best());
  return out;
}

Result<std::optional<Measured>> Trials::measure_now(const PlanCandidate& candidate,
                                                    std::string& why) {
  // Choices of layers may contradict each other in ways that planning alone knows.
  const auto refused = [&](const Error& error) -> Result<std::optional<Measured>> {
    const bool ends =
        candidate.choices.empty() ? !is_refusal(error) : error.code() == ErrorCode::kCancelled;
    if (ends) return error;
    why = error.text();
    return std::optional<Measured>();
  };
  const Result<QuantizationPlan> planned = plan(candidate);
  if (!planned.ok()) return refused(planned.error());
  const Recipe* recipe = find_recipe(candidate.recipe);
  if (recipe != nullptr && !recipe->step.empty() && planned->steps.empty() && candidate.is_recipe())
    return refused(Error("no step of it helps anywhere", ErrorCode::kRefused));
  const Result<Graph> graph = quantized(*planned);
  if (!graph.ok()) return refused(graph.error());
  Result<Measured> measured = task_.measure(&*graph, &trials_.front()->measured);
  if (!measured.ok() && measured.error().code() != ErrorCode::kRefused)
    return std::move(measured).error().with(in_words(candidate));
  if (!measured.ok()) return refused(measured.error());
  measured->bytes = constant_bytes(*graph);
  return std::optional(*measured);
}

Result<const QuantizationPlan*> Trials::recipe_plan(const std::string& name) {
  if (const auto found = plans_.find(name); found != plans_.end()) return &found->second;
  const Recipe* recipe = find_recipe(name);
  if (recipe == nullptr) return error("there is no recipe \"{}\"", name);
  QuantizeOptions options = with_recipe(task_.options, *recipe);
  options.learn_rounding = learn_rounding_;
  const auto open = [&]() -> Result<CalibrationSource> {
    return batches_of(task_.graph, task_.calibration, options.samples, options.batch_size);
  };
  const int64_t samples = options.samples <= 0
                              ? task_.calibration.size()
                              : std::min(options.samples, task_.calibration.size());
  plans_[name] = OCTET_TRY(make_plan(task_.graph, task_.placement, open, options, samples));
  return &plans_[name];
}

Result<QuantizationPlan> Trials::plan(const PlanCandidate& candidate) {
  if (candidate.is_recipe()) return *OCTET_TRY(recipe_plan(candidate.recipe));
  if (!latest_ || latest_->first != candidate)
    latest_.emplace(candidate, OCTET_TRY(changed_plan(candidate)));
  return latest_->second;
}

Result<QuantizationPlan> Trials::changed_plan(const PlanCandidate& candidate) {
  const QuantizationPlan& base = *OCTET_TRY(recipe_plan(candidate.recipe));
  QuantizeOptions options = with_recipe(task_.options, *find_recipe(candidate.recipe));
  if (base.one_at_a_time) options.batch_size = 1;
  const auto open = [&]() -> Result<CalibrationSource> {
    return batches_of(task_.graph, task_.calibration, options.samples, options.batch_size);
  };
  return plan_changed({task_.graph, task_.placement, options, open}, base, candidate);
}

Result<Graph> Trials::prepared(const QuantizationPlan& plan) const {
  Graph out = OCTET_TRY(prepare_for_quantization(task_.graph, task_.placement));
  OCTET_TRY(apply_steps(out, plan.steps, StepStage::kFloat));
  return out;
}

std::vector<const LayerChoice*> Trials::choices_of(const std::string& recipe) const {
  std::vector<const LayerChoice*> out;
  const QuantizeOptions options = with_recipe(task_.options, *find_recipe(recipe));
  for (const LayerChoice& choice : layer_choices())
    if ((!choice.float_activations() || task_.reads_codes || task_.goal == Goal::kSize) &&
        can_choose(choice, task_.placement, options))
      out.push_back(&choice);
  return out;
}

Result<Graph> Trials::quantized(const QuantizationPlan& plan) const {
  return apply_plan(task_.graph, plan, task_.placement, WeightStorage::kTarget);
}

Result<HeldOut> Trials::check(const PlanCandidate& candidate) {
  if (const JournalEntry* entry = task_.journal.find(kCheck, candidate)) return held_out_of(*entry);
  OCTET_TRY(ask("held-out examples: " + in_words(candidate)));
  const Graph graph = OCTET_TRY(quantized(OCTET_TRY(plan(candidate))));
  const HeldOut out = OCTET_TRY(task_.check(graph));
  OCTET_TRY(task_.journal.append(entry_of(candidate, out)));
  return out;
}

bool Trials::holds(const SearchTrial& trial, const Bar& bar) const {
  const Measured& as_float = trials_.front()->measured;
  return is_within(bar, accuracy_points(as_float.right, trial.measured.right, task_.examples),
                   trial.measured.noise);
}

bool Trials::cheaper(const SearchTrial& a, const SearchTrial& b) const {
  const Measured &x = a.measured, &y = b.measured;
  const auto far_apart = [](double p, double q) {
    return std::abs(p - q) > kCostMargin * std::max(p, q);
  };
  if (task_.goal == Goal::kSize && x.bytes != y.bytes) return x.bytes < y.bytes;
  if (task_.costs == CostBy::kMeasured && far_apart(x.ms, y.ms)) return x.ms < y.ms;
  if (x.work != y.work) return x.work < y.work;
  // Codes of activations that make a product no faster only cost.
  if (in_vain(a.candidate) != in_vain(b.candidate))
    return in_vain(a.candidate) < in_vain(b.candidate);
  if (far_apart(static_cast<double>(x.bytes), static_cast<double>(y.bytes)))
    return x.bytes < y.bytes;
  const auto changes = [](const PlanCandidate& c) { return c.in_float.size() + c.choices.size(); };
  if (changes(a.candidate) != changes(b.candidate))
    return changes(a.candidate) < changes(b.candidate);
  return x.noise < y.noise;
}

bool Trials::beats_float(const SearchTrial& trial) const {
  const Measured& as_float = trials_.front()->measured;
  if (task_.goal == Goal::kSize) return trial.measured.bytes < as_float.bytes;
  if (task_.costs == CostBy::kModel) return trial.measured.work < as_float.work;
  return as_float.ms - trial.measured.ms > kCostMargin * as_float.ms;
}

int64_t Trials::coarse() const {
  constexpr int64_t kOneIn = 1000;
  return std::max<int64_t>(1, task_.examples / kOneIn);
}

bool Trials::closer(const SearchTrial& a, const SearchTrial& b) const {
  if (std::abs(a.measured.right - b.measured.right) > coarse())
    return a.measured.right > b.measured.right;
  return a.measured.noise < b.measured.noise;
}

double Trials::extra_cost(const SearchTrial& a, const SearchTrial& b) const {
  const Measured &as_float = trials_.front()->measured, &x = a.measured, &y = b.measured;
  if (task_.goal == Goal::kSize) return static_cast<double>(x.bytes - y.bytes);
  if (task_.costs == CostBy::kModel) return x.work - y.work;
  if (std::abs(x.ms - y.ms) > kCostMargin * std::max(x.ms, y.ms)) return x.ms - y.ms;
  return as_float.work > 0 ? (x.work - y.work) / as_float.work * as_float.ms : 0;
}

const SearchTrial* Trials::cheapest(const Bar& bar, const std::set<PlanCandidate>& refused) const {
  const SearchTrial* best = nullptr;
  for (const auto& trial : trials_) {
    if (trial == trials_.front() || refused.contains(trial->candidate)) continue;
    if (!holds(*trial, bar) || !beats_float(*trial)) continue;
    if (best == nullptr || cheaper(*trial, *best)) best = trial.get();
  }
  return best;
}

} // namespace octet
