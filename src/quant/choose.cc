// SPDX-License-Identifier: Apache-2.0
#include "quant/choose.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/node_names.h"
#include "quant/apply.h"
#include "quant/batch_rows.h"
#include "quant/costly.h"
#include "quant/dynamic_lstm.h"
#include "quant/place.h"

namespace octet {

namespace {

/// Of the outputs' power: 20 dB. Nobody looks for better ranges below.
constexpr double kGoodEnough = 0.01;

using Pick = std::vector<size_t>; ///< of kAutoCalibrators, for each value that has a choice

/// How many networks are quantized and run: all of them together take about as long as calibration,
/// since a network in codes takes half the time of the float one and nothing is observed in it.
int64_t most_trials(int64_t samples, int64_t held) {
  constexpr int64_t kRuns = 2, kMost = 16;
  return std::clamp<int64_t>(kRuns * samples / std::max<int64_t>(held, 1),
                             std::ssize(kAutoCalibrators) + 2, kMost);
}

class Chooser {
 public:
  Chooser(const Choosing& choosing, QuantizationPlan& plan)
      : c_(choosing), nodes_(choosing.graph), plan_(plan),
        left_(most_trials(plan.samples + choosing.held.examples, choosing.held.examples)) {
    list_values();
  }

  Status run() {
    if (values_.empty() || c_.held.batches.empty()) return ok_status();
    plan_.held_back = c_.held.observed ? 0 : c_.held.examples;
    std::vector<double> errors;
    for (size_t k = 0; k < kAutoCalibrators.size(); ++k) {
      errors.push_back(OCTET_TRY(of_all(k, errors)));
      note(name(kAutoCalibrators[k]), errors.back());
    }
    // The first of equals: min-max clips nothing.
    std::vector<size_t> by_error(errors.size());
    std::iota(by_error.begin(), by_error.end(), size_t{0});
    std::stable_sort(by_error.begin(), by_error.end(),
                     [&](size_t a, size_t b) { return errors[a] < errors[b]; });
    best_.assign(values_.size(), by_error[0]);
    best_error_ = errors[by_error[0]];
    if (!c_.options.correct_biases) OCTET_TRY(ask_for_means());
    if (best_error_ >= kGoodEnough) {
      // Outputs that nothing reads in codes are worth a trial more.
      if (const std::vector<std::string> products = unread_products(); !products.empty()) {
        left_ = std::max<int64_t>(left_, 1);
        OCTET_TRY(ask_for_float(products, Leave::kOutputs));
      }
      left_ = std::max<int64_t>(left_, 1);
      OCTET_TRY(ask_for_float(may_stay_float(), Leave::kNodes));
      OCTET_TRY(refine(by_error));
    }
    if (collapses(best_error_)) {
      OCTET_TRY(look_for_costly());
      OCTET_TRY(leave_costly());
    }
    for (TensorPlan& tensor : plan_.tensors)
      if (tensor.means) tensor.means = c_.means.at(tensor.value).whole;
    return take(plan_, best_, [&](const std::string& value, size_t k) -> Result<Range> {
      const auto whole = c_.whole.find(value);
      if (whole == c_.whole.end()) return c_.choices.at(value)[k];
      return OCTET_TRY(whole->second.ranges_by(kAutoCalibrators[k])).at(0);
    });
  }

 private:
  bool collapses(double error) const { return error > collapsed(c_.held.examples); }

  void list_values() {
    values_.clear();
    for (const TensorPlan& tensor : plan_.tensors)
      if (c_.choices.contains(tensor.value)) values_.push_back(tensor.value);
  }

  /// With one calibrator for all values. `before`: the errors of those in front of it.
  Result<double> of_all(size_t k, std::span<const double> before) {
    for (size_t other = 0; other < k; ++other)
      if (std::all_of(values_.begin(), values_.end(), [&](const std::string& value) {
            return c_.choices.at(value)[other] == c_.choices.at(value)[k];
          }))
        return before[other];
    return measure(plan_, Pick(values_.size(), k));
  }

  /// Biases corrected by the means of what their products read.
  Status ask_for_means() {
    QuantizationPlan corrected = plan_;
    bool any = false;
    for (TensorPlan& tensor : corrected.tensors)
      if (const auto found = c_.means.find(tensor.value); found != c_.means.end()) {
        tensor.means = found->second.means;
        any = true;
      }
    if (!any) return ok_status();
    const double error = OCTET_TRY(measure(corrected, best_));
    if (!(error < best_error_)) return ok_status();
    note(std::string(kBiasesCorrected), error);
    plan_.tensors = std::move(corrected.tensors);
    best_error_ = error;
    return ok_status();
  }

  /// Operators between products that nobody asked for by name.
  std::vector<std::string> may_stay_float() const {
    std::vector<std::string> out;
    for (const NodePlan& plan : plan_.nodes) {
      if (!plan.quantized || plan.rule != Placed::kAround || !c_.options.include.empty()) continue;
      const auto id = nodes_.find(plan.node);
      const PlacementRule* rule = id ? c_.placement.rule(c_.graph.node(*id)) : nullptr;
      if (rule != nullptr && !rule->on_request) out.push_back(plan.node);
    }
    return out;
  }

  /// Products whose outputs are in codes that no layer reads. Those that the target computes in float
  /// where their outputs are only if the outputs of the network collapse: they would be slow.
  std::vector<std::string> unread_products() const {
    std::map<std::string_view, const NodePlan*> plans;
    for (const NodePlan& plan : plan_.nodes)
      plans[plan.node] = &plan;
    const Uses uses(c_.graph);
    const std::function<bool(ValueId)> is_read = [&](ValueId value) {
      const auto readers = uses.of(value);
      return std::any_of(readers.begin(), readers.end(), [&](const Uses::Use& use) {
        const Node& reader = c_.graph.node(use.node);
        const auto plan = plans.find(reader.name);
        if (plan == plans.end() || !plan->second->quantized) return false;
        const NodePlan& p = *plan->second;
        if (p.rule == Placed::kMoves || p.rule == Placed::kAbsorbed)
          return is_read(reader.output(0));
        return std::find(p.inputs.begin(), p.inputs.end(), static_cast<int64_t>(use.input)) !=
               p.inputs.end();
      });
    };
    std::vector<std::string> out;
    for (const NodePlan& plan : plan_.nodes) {
      if (!plan.quantized || !plan.output) continue;
      const auto id = nodes_.find(plan.node);
      if (!id || is_read(c_.graph.node(*id).output(0))) continue;
      // Behind a clamp that is absorbed, the codes are those of the product before it.
      const Node* product = plan.rule == Placed::kAbsorbed
                                ? c_.graph.producer(c_.graph.node(*id).input(0))
                                : &c_.graph.node(*id);
      const PlacementRule* rule = product == nullptr ? nullptr : c_.placement.rule(*product);
      if (rule != nullptr && rule->treatment == Treatment::kProduct &&
          (rule->output == OutputCodes::kUnlessCostly || collapses(best_error_)))
        out.push_back(product->name);
    }
    return out;
  }

  /// What of a node is left in float. kOutputs: where the target computes it from codes to float,
  /// its output alone.
  enum class Leave { kNodes, kOutputs };
  /// Of what is held back.
  enum class Extent { kFew, kAll };

  /// These nodes, all together and then as few of them as do.
  Status ask_for_float(std::vector<std::string> nodes, Leave leave) {
    constexpr double kPays = 0.5, kAsGood = 1.1;
    if (nodes.empty() || left_ <= 0 || best_error_ < kGoodEnough) return ok_status();
    auto kept = OCTET_TRY(with_float(nodes, leave));
    if (!kept || !(kept->error < kPays * best_error_)) return ok_status();
    for (size_t width = (nodes.size() + 1) / 2; width > 0 && left_ > 0; width /= 2)
      for (size_t begin = 0; begin < nodes.size() && nodes.size() > 1 && left_ > 0;) {
        std::vector<std::string> fewer = nodes;
        const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(begin);
        fewer.erase(first,
                    first + static_cast<std::ptrdiff_t>(std::min(width, fewer.size() - begin)));
        auto trial = fewer.empty() ? std::nullopt : OCTET_TRY(with_float(fewer, leave));
        if (trial && trial->error <= kAsGood * kept->error) {
          nodes = std::move(fewer);
          kept = std::move(trial);
        } else {
          begin += width;
        }
      }
    accept(std::move(*kept), nodes, leave);
    const bool outputs = leave == Leave::kOutputs && !float_outputs_.empty();
    note(fmt::format("{}{} in float: {}", outputs ? "outputs of " : "", nodes.size(),
                     join_some(nodes, 5)),
         best_error_);
    return ok_status();
  }

  struct Placing {
    QuantizationPlan plan;
    double error;
  };
  /// nullopt: some activation would be in codes that no range is known of.
  Result<std::optional<Placing>>
  with_float(const std::vector<std::string>& nodes, Leave leave, Extent extent = Extent::kAll) {
    std::set<std::string> in_float = in_float_, outputs = float_outputs_;
    add_float(nodes, leave, in_float, outputs);
    QuantizationPlan plan = plan_;
    plan.nodes = OCTET_TRY(place(c_.graph, c_.placement, c_.options, in_float, outputs));
    for (size_t i = 0; i < plan.nodes.size(); ++i)
      if (plan_.nodes[i].rule == Placed::kOverflow || plan_.nodes[i].rule == Placed::kWeightNotF32)
        plan.nodes[i] = plan_.nodes[i];
    if (!keep_needed(plan)) return std::optional<Placing>();
    const double error = OCTET_TRY(measure(plan, best_, extent));
    return std::optional(Placing{std::move(plan), error});
  }

  /// The plan with these in float, and the ranges that were chosen for what it has in codes.
  void accept(Placing trial, std::span<const std::string> nodes, Leave leave) {
    std::map<std::string, size_t> picks;
    for (size_t v = 0; v < values_.size(); ++v)
      picks[values_[v]] = best_[v];
    plan_ = std::move(trial.plan);
    best_error_ = trial.error;
    add_float(nodes, leave, in_float_, float_outputs_);
    list_values();
    best_.clear();
    for (const std::string& value : values_)
      best_.push_back(picks.at(value));
  }

  void add_float(std::span<const std::string> nodes,
                 Leave leave,
                 std::set<std::string>& in_float,
                 std::set<std::string>& outputs) const {
    if (leave == Leave::kNodes) {
      in_float.insert(nodes.begin(), nodes.end());
      return;
    }
    for (const std::string& name : nodes) {
      const auto id = nodes_.find(name);
      const PlacementRule* rule = id ? c_.placement.rule(c_.graph.node(*id)) : nullptr;
      const bool output = rule != nullptr && rule->output == OutputCodes::kUnlessCostly;
      (output ? outputs : in_float).insert(name);
    }
  }

  /// Leaves the tensors that the nodes of a plan have in codes; false: there are others.
  bool keep_needed(QuantizationPlan& plan) const {
    std::set<std::string_view> needed;
    for (const NodePlan& node_plan : plan.nodes) {
      if (!node_plan.quantized) continue;
      const auto id = nodes_.find(node_plan.node);
      if (!id) return false;
      const Node& node = c_.graph.node(*id);
      const auto need = [&](ValueId v) { needed.insert(c_.graph.value(v).name); };
      for (const int64_t i : node_plan.inputs)
        need(node.input(static_cast<size_t>(i)));
      for (const size_t i : weight_inputs(node_plan))
        need(node.input(i));
      if (node_plan.output) need(node.output(0));
    }
    std::erase_if(plan.tensors, [&](const TensorPlan& t) { return !needed.contains(t.value); });
    return plan.tensors.size() == needed.size();
  }

  /// Halves of the network, then quarters and so on, by the calibrators that did next best.
  Status refine(std::span<const size_t> by_error) {
    constexpr double kPays = 0.9;
    constexpr size_t kOthers = 2, kLeastValues = 2;
    for (size_t width = (values_.size() + 1) / 2; width >= kLeastValues; width = (width + 1) / 2) {
      for (size_t begin = 0; begin < values_.size(); begin += width)
        for (const size_t k : by_error.subspan(1, kOthers)) {
          if (left_ <= 0 || best_error_ < kGoodEnough) return ok_status();
          const size_t end = std::min(begin + width, values_.size());
          Pick pick = best_;
          std::fill(pick.begin() + static_cast<std::ptrdiff_t>(begin),
                    pick.begin() + static_cast<std::ptrdiff_t>(end), k);
          if (pick == best_) continue;
          const double error = OCTET_TRY(measure(plan_, pick));
          if (error >= kPays * best_error_) continue;
          note(fmt::format("{} from \"{}\" to \"{}\"", name(kAutoCalibrators[k]), values_[begin],
                           values_[end - 1]),
               error);
          best_ = std::move(pick);
          best_error_ = error;
        }
      if (width == kLeastValues) break;
    }
    return ok_status();
  }

  /// Layers, each alone in codes with the ranges that were chosen.
  Status look_for_costly() {
    constexpr size_t kNamed = 3;
    std::vector<std::string> layers;
    for (const NodePlan& node : plan_.nodes)
      if (node.quantized && node.rule != Placed::kMoves && node.rule != Placed::kAbsorbed)
        layers.push_back(node.node);
    plan_.costly = OCTET_TRY(find_costly(
        layers, kNamed, [&](std::span<const std::string> alone) -> Result<std::optional<double>> {
          const std::set<std::string_view> in_codes(alone.begin(), alone.end());
          std::vector<std::string> others;
          std::copy_if(layers.begin(), layers.end(), std::back_inserter(others),
                       [&](const std::string& layer) { return !in_codes.contains(layer); });
          const auto trial = OCTET_TRY(with_float(others, Leave::kNodes, Extent::kFew));
          return trial ? std::optional(trial->error) : std::nullopt;
        }));
    return ok_status();
  }

  /// As few of the layers that cost most in float as keep the outputs from collapsing; none where
  /// they do not, where nothing else would be in codes, and where few bits or single layers were
  /// asked for.
  Status leave_costly() {
    const QuantizeOptions& o = c_.options;
    if (!o.float_where_collapsed || !o.include.empty() || !o.layers.empty() || o.weights ||
        o.activations || o.weight_bits < 8 || o.activation_bits < 8)
      return ok_status();
    std::vector<std::string> nodes;
    for (size_t count = 1; count <= plan_.costly.size(); ++count) {
      nodes.push_back(plan_.costly[count - 1].node);
      auto trial = OCTET_TRY(with_float(nodes, Leave::kNodes));
      if (!trial || collapses(trial->error) || !has_products(trial->plan)) continue;
      accept(std::move(*trial), nodes, Leave::kNodes);
      plan_.costly.clear();
      note(fmt::format("{}{}", kLayersInFloat, join(nodes, ", ")), best_error_);
      return ok_status();
    }
    return ok_status();
  }

  static bool has_products(const QuantizationPlan& plan) {
    return std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const NodePlan& node) {
      return node.quantized && node.rule == Placed::kProduct;
    });
  }

  void note(std::string what, double error) {
    plan_.trials.push_back({std::move(what), decibels(error)});
  }

  using RangeBy = std::function<Result<Range>(const std::string& value, size_t k)>;

  /// The ranges that calibrators have for values, and what is the same as they are.
  Status take(QuantizationPlan& plan, const Pick& pick, const RangeBy& range_by) const {
    std::map<std::string_view, size_t> chosen;
    for (size_t v = 0; v < values_.size(); ++v)
      chosen[values_[v]] = pick[v];
    std::map<std::string_view, const TensorPlan*> taken;
    constexpr std::string_view kSameAs = "same as ";
    for (TensorPlan& tensor : plan.tensors) {
      const std::string_view algorithm = tensor.algorithm;
      if (const auto found = chosen.find(tensor.value); found != chosen.end()) {
        tensor.ranges = {OCTET_TRY(range_by(tensor.value, found->second))};
        tensor.algorithm = name(kAutoCalibrators[found->second]);
      } else if (algorithm.starts_with(kSameAs)) {
        if (const auto source = taken.find(algorithm.substr(kSameAs.size())); source != taken.end())
          tensor.ranges = source->second->ranges;
      } else {
        continue;
      }
      taken[tensor.value] = &tensor;
    }
    return ok_status();
  }

  /// The error of the outputs with these ranges.
  Result<double> measure(QuantizationPlan plan, const Pick& pick, Extent extent = Extent::kAll) {
    --left_;
    OCTET_TRY(take(plan, pick, [&](const std::string& value, size_t k) -> Result<Range> {
      return c_.choices.at(value)[k];
    }));
    Graph quantized = c_.graph;
    OCTET_TRY(apply_behind_ranges(quantized, plan, c_.placement, WeightStorage::kTarget));
    // The one before shares its packed weights with this one.
    std::unique_ptr<Executor> executor = OCTET_TRY(
        c_.options.executor ? c_.options.executor(quantized) : make_reference_executor(quantized));
    std::swap(executor, executor_);
    executor = nullptr;
    OutputError error;
    int64_t examples = 0;
    for (const HeldBack::Batch& batch : c_.held.batches) {
      if (extent == Extent::kFew && examples >= static_cast<int64_t>(HeldBack::kFew)) break;
      examples += examples_in(batch.inputs);
      if (c_.options.progress && !c_.options.progress(plan.samples, plan.samples))
        return Error("stopped while ranges were chosen", ErrorCode::kCancelled);
      error.add(batch.outputs, OCTET_TRY(executor_->run(batch.inputs)), mask_of(batch));
    }
    return error.mean();
  }

  const Tensor* mask_of(const HeldBack::Batch& batch) const {
    for (size_t i = 0; i < c_.graph.inputs().size(); ++i)
      if (!c_.options.mask_input.empty() &&
          c_.graph.value(c_.graph.inputs()[i]).name == c_.options.mask_input)
        return &batch.inputs[i];
    return nullptr;
  }

  const Choosing& c_;
  NodeNames nodes_;
  QuantizationPlan& plan_;
  int64_t left_;
  std::vector<std::string> values_;                ///< that have a choice, in the order of the plan
  std::set<std::string> in_float_, float_outputs_; ///< as place() takes them
  Pick best_;
  double best_error_ = std::numeric_limits<double>::infinity();
  std::unique_ptr<Executor> executor_; ///< of the last trial
};

} // namespace

Status choose_ranges(const Choosing& choosing, QuantizationPlan& plan) {
  return Chooser(choosing, plan).run();
}

} // namespace octet
