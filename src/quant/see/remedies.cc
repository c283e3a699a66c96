// SPDX-License-Identifier: Apache-2.0
#include "quant/see/remedies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/node_names.h"
#include "ops/infer.h"
#include "quant/scheme.h"
#include "quant/steps/step.h"
#include "quant/weight_plans.h"
#include "quant/weight_ranges.h"

namespace octet {

namespace {

constexpr int kAllBits = 8;

const TensorPlan& tensor_in(const QuantizationPlan& plan, const std::string& value) {
  return *plan.tensor(value);
}

TensorPlan* tensor_of(QuantizationPlan& plan, const std::string& value) {
  const auto found = std::find_if(plan.tensors.begin(), plan.tensors.end(),
                                  [&](const TensorPlan& t) { return t.value == value; });
  return found == plan.tensors.end() ? nullptr : &*found;
}

/// Whether two ranges are one up to the rounding of a scale.
bool as_good_as_equal(std::span<const Range> a, std::span<const Range> b) {
  constexpr double kClose = 1e-3;
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const double width = std::max({a[i].hi - a[i].lo, b[i].hi - b[i].lo, 1e-30});
    if (std::fabs(a[i].lo - b[i].lo) + std::fabs(a[i].hi - b[i].hi) > kClose * width) return false;
  }
  return true;
}

class RemedyList {
 public:
  RemedyList(const RemedySource& source, const QuantizationPlan& plan, const QuantizedLayer& layer)
      : source_(source), plan_(plan), layer_(layer), graph_(source.trials.prepared()) {}

  Result<std::vector<Remedy>> run() {
    calibrators();
    for (const std::string& weight : layer_.weights) {
      OCTET_TRY(weight_calibrators(weight));
      OCTET_TRY(per_channel(weight));
    }
    OCTET_TRY(more_bits());
    output_in_float();
    OCTET_TRY(steps());
    keep_float();
    readers_in_float();
    return std::move(out_);
  }

 private:
  static std::string quoted(const std::string& name) { return fmt::format("\"{}\"", name); }

  /// A calibrator for one activation, or for all where there are several.
  void calibrators() {
    std::vector<std::string> known;
    for (const std::string& value : layer_.activations)
      if (source_.ranges.contains(value) && !is_moved(value)) known.push_back(value);
    std::vector<std::vector<std::string>> groups;
    groups.reserve(known.size() + 1);
    for (const std::string& value : known)
      groups.push_back({value});
    if (known.size() > 1) groups.push_back(known);
    for (size_t k = 0; k < kAutoCalibrators.size(); ++k)
      for (const std::vector<std::string>& group : groups) {
        const bool same = std::all_of(group.begin(), group.end(), [&](const std::string& value) {
          return as_good_as_equal(tensor_in(plan_, value).ranges,
                                  std::array{source_.ranges.at(value)[k]});
        });
        if (same) continue;
        const std::string calibrator = name(kAutoCalibrators[k]);
        out_.push_back({"calibrator", fmt::format("{} for {}", calibrator, join_some(group, 3)),
                        [this_ranges = &source_.ranges, group, k,
                         calibrator](const QuantizationPlan& plan) -> Result<QuantizationPlan> {
                          QuantizationPlan changed = plan;
                          for (const std::string& value : group)
                            set_range(changed, value, this_ranges->at(value)[k], calibrator);
                          return changed;
                        }});
      }
  }
  bool is_moved(const std::string& value) const {
    return std::string_view(tensor_in(plan_, value).algorithm).starts_with("same as ");
  }

  const Tensor* constant(const std::string& weight) const {
    const auto id = graph_.find_value(weight);
    return id ? graph_.constant(*id) : nullptr;
  }

  void add_weight_change(const char* kind, std::string words, const TensorPlan& tensor) {
    out_.push_back({kind, std::move(words),
                    [tensor](const QuantizationPlan& plan) -> Result<QuantizationPlan> {
                      QuantizationPlan changed = plan;
                      if (TensorPlan* old = tensor_of(changed, tensor.value)) *old = tensor;
                      return changed;
                    }});
  }

  Status weight_calibrators(const std::string& weight) {
    const Tensor* w = constant(weight);
    if (w == nullptr || has_chosen_scales() || tensor_in(plan_, weight).algorithm == kDirect)
      return ok_status();
    for (const Calibrator& calibrator : {Calibrator{MinMax{}}, Calibrator{Mse{}}}) {
      TensorPlan tensor = tensor_in(plan_, weight);
      const std::vector<Range> ranges = OCTET_TRY(weight_ranges(*w, tensor, calibrator));
      if (as_good_as_equal(ranges, tensor.ranges)) continue;
      tensor.ranges = ranges;
      tensor.algorithm = name(calibrator);
      add_weight_change("weight-calibrator",
                        fmt::format("{} for {}", name(calibrator), quoted(weight)), tensor);
    }
    return ok_status();
  }

  Status per_channel(const std::string& weight) {
    const Tensor* w = constant(weight);
    TensorPlan tensor = tensor_in(plan_, weight);
    if (w == nullptr || w->rank() < 2 || tensor.axis || has_chosen_scales()) return ok_status();
    tensor.axis = channel_axis(*w);
    if (!tensor.axis) return ok_status();
    tensor.ranges = OCTET_TRY(weight_ranges(*w, tensor, MinMax{}));
    tensor.algorithm = name(Calibrator{MinMax{}});
    add_weight_change("per-channel", fmt::format("a scale for each channel of {}", quoted(weight)),
                      tensor);
    return ok_status();
  }

  /// The axis of the layer's output channels in its weight.
  std::optional<int64_t> channel_axis(const Tensor& weight) const {
    const Node* reader = node_of_layer();
    const OpDef* op = reader != nullptr ? find_op(reader->domain, reader->op_type) : nullptr;
    if (op == nullptr || weight.rank() < 2) return std::nullopt;
    const int64_t axis = op->quant.fn(*reader, input_infos(graph_, *reader)).weight_axis;
    return axis < 0 ? axis + weight.rank() : axis;
  }

  bool has_few_bits(const std::string& value) const {
    const Scheme& scheme = tensor_in(plan_, value).scheme;
    return is_integer(scheme.type) && scheme.bits < kAllBits;
  }

  /// 8 bits where there are fewer.
  Status more_bits() {
    std::vector<std::string> few;
    std::map<std::string, TensorPlan> wider;
    for (const std::vector<std::string>* each : {&layer_.weights, &layer_.activations})
      for (const std::string& value : *each)
        if (has_few_bits(value) && (tensor_in(plan_, value).block == 0 || !has_chosen_scales()))
          few.push_back(value);
    if (few.empty() || has_chosen_codes()) return ok_status();
    for (const std::string& value : few)
      wider[value] = OCTET_TRY(in_all_bits(value));
    out_.push_back({"more-bits", fmt::format("8 bits for {}", join_some(few, 3)),
                    [wider](const QuantizationPlan& plan) -> Result<QuantizationPlan> {
                      QuantizationPlan changed = plan;
                      for (const auto& [value, tensor] : wider) {
                        TensorPlan* old = tensor_of(changed, value);
                        if (old == nullptr) continue;
                        const bool other_scales = old->block != tensor.block;
                        old->scheme = tensor.scheme;
                        if (other_scales) *old = tensor;
                      }
                      return changed;
                    }});
    return ok_status();
  }

  /// Types of fewer bits become bytes, weights with a scale for each channel where they had blocks.
  Result<TensorPlan> in_all_bits(const std::string& value) const {
    TensorPlan out = tensor_in(plan_, value);
    const Tensor* weight = constant(value);
    if (all_bits(out.scheme.type) < kAllBits)
      out.scheme.type = is_signed(out.scheme.type) ? DType::kInt8 : DType::kUint8;
    out.scheme.bits = kAllBits;
    out.scheme.narrow = weight != nullptr && source_.trials.placement().weight.narrow;
    if (weight == nullptr || out.block == 0) return out;
    out.block = 0;
    out.axis = channel_axis(*weight);
    out.ranges = OCTET_TRY(weight_ranges(*weight, out, MinMax{}));
    return out;
  }

  /// What the layer makes, where something reads it in float.
  void output_in_float() {
    const Uses uses(graph_);
    for (const size_t entry : layer_.nodes) {
      const NodePlan& node_plan = plan_.nodes[entry];
      const auto id = graph_.find_node(node_plan.node);
      if (!id || !node_plan.output || node_plan.rule == Placed::kMoves) continue;
      const ValueId made = graph_.node(*id).output(0);
      const bool floats =
          graph_.is_output(made) ||
          std::any_of(uses.of(made).begin(), uses.of(made).end(), [&](const Uses::Use& use) {
            const NodePlan* reader = plan_.node(graph_.node(use.node).name);
            return reader == nullptr || !reader->quantized ||
                   std::find(reader->inputs.begin(), reader->inputs.end(),
                             static_cast<int64_t>(use.input)) == reader->inputs.end();
          });
      if (!floats) continue;
      out_.push_back({"output-in-float",
                      fmt::format("no codes for what {} makes", quoted(node_plan.node)),
                      [entry](const QuantizationPlan& plan) -> Result<QuantizationPlan> {
                        QuantizationPlan changed = plan;
                        NodePlan& changes = changed.nodes[entry];
                        changes.output = false;
                        changes.quantized = changes.weight || !changes.inputs.empty();
                        return changed;
                      }});
    }
  }

  /// Steps of the stages behind ranges, for this layer alone.
  Status steps() {
    if (!source_.open || plan_.mode != QuantMode::kStatic) return ok_status();
    const bool few_bits =
        std::any_of(layer_.weights.begin(), layer_.weights.end(),
                    [&](const std::string& weight) { return has_few_bits(weight); });
    for (const StepAlgorithm& algorithm : step_algorithms()) {
      if (algorithm.stage == StepStage::kFloat || layer_.weights.empty()) continue;
      // Codes are chosen for few bits; the others round as well as they can.
      if (algorithm.stage == StepStage::kWeights && (!few_bits || has_chosen_codes())) continue;
      // Learned for what a block makes: of one layer alone it is what adaround does.
      if (std::holds_alternative<Reconstruct>(algorithm.empty())) continue;
      OCTET_TRY_WITH(fitted(algorithm), std::string(algorithm.name));
    }
    return ok_status();
  }

  Status fitted(const StepAlgorithm& algorithm) {
    const auto ours = [this, &algorithm](const PlanStep& step) {
      const std::string* weights = changed_weights(step.kind);
      const auto* bias = std::get_if<CorrectBias>(&step.kind);
      if (weights != nullptr) return *weights == layer_.node && name(step.kind) == algorithm.name;
      return bias != nullptr && (bias->bias.node == layer_.node || is_behind(bias->bias.node));
    };
    if (std::any_of(plan_.steps.begin(), plan_.steps.end(), ours)) return ok_status();
    Graph fitted_on = graph_;
    QuantizationPlan so_far = plan_;
    std::set<std::string> met;
    QuantizeOptions options = source_.options;
    // Only this layer: the others' are not looked at.
    for (const NodePlan& other : plan_.nodes)
      if (other.node != layer_.node && !is_behind(other.node))
        options.exclude_steps.push_back(fmt::format("{}/{}", algorithm.name, other.node));
    std::vector<PlanStep> steps =
        OCTET_TRY(algorithm.fit({fitted_on, so_far, source_.trials.placement(), options,
                                 source_.open, source_.samples, met}));
    std::erase_if(steps, [&](const PlanStep& step) { return !ours(step); });
    if (steps.empty()) return ok_status();
    for (PlanStep& step : steps)
      step.needs.clear(); // the others of its kind are not taken
    out_.push_back({std::string(algorithm.name), fmt::format("{}", steps.front().id),
                    [steps](const QuantizationPlan& plan) -> Result<QuantizationPlan> {
                      QuantizationPlan changed = plan;
                      changed.steps.insert(changed.steps.end(), steps.begin(), steps.end());
                      std::stable_sort(changed.steps.begin(), changed.steps.end(),
                                       [](const PlanStep& a, const PlanStep& b) {
                                         return stage(a.kind) < stage(b.kind);
                                       });
                      return changed;
                    }});
    return ok_status();
  }

  void keep_float() {
    const QuantizedLayer layer = layer_;
    const Graph* graph = &graph_;
    out_.push_back({std::string(kKeepFloat), fmt::format("{} in float", quoted(layer_.node)),
                    [graph, layer](const QuantizationPlan& plan) -> Result<QuantizationPlan> {
                      return with_layer_in_float(*graph, plan, layer);
                    }});
  }

  /// What is lost where a layer's output is rounded is lost by whoever quantizes what it reads.
  void readers_in_float() {
    if (!layer_.weights.empty()) return;
    const QuantizationPlan without = with_layer_in_float(graph_, plan_, layer_);
    const NodeNames nodes(graph_);
    std::set<ValueId> made;
    for (const size_t entry : layer_.nodes)
      if (const auto id = nodes.find(plan_.nodes[entry].node))
        made.insert(graph_.node(*id).output(0));
    std::vector<QuantizedLayer> readers;
    std::vector<std::string> names;
    for (const QuantizedLayer& other : layers_of(graph_, without)) {
      const bool reads = std::any_of(other.nodes.begin(), other.nodes.end(), [&](size_t entry) {
        const auto id = nodes.find(without.nodes[entry].node);
        const std::vector<int64_t>& inputs = without.nodes[entry].inputs;
        return id && std::any_of(inputs.begin(), inputs.end(), [&](int64_t input) {
                 return made.contains(graph_.node(*id).input(static_cast<size_t>(input)));
               });
      });
      if (!reads) continue;
      readers.push_back(other);
      names.push_back(quoted(other.node));
    }
    if (readers.empty()) return;
    readers.push_back(layer_);
    const Graph* graph = &graph_;
    out_.push_back({std::string(kReadersInFloat),
                    fmt::format("{} in float, which read it", join_some(names, 3)),
                    [graph, readers](const QuantizationPlan& plan) -> Result<QuantizationPlan> {
                      QuantizationPlan changed = plan;
                      for (const QuantizedLayer& each : readers)
                        changed = with_layer_in_float(*graph, changed, each);
                      return changed;
                    }});
  }

  /// By a step, which speaks of as many scales as the plan has.
  bool has_chosen_scales() const {
    return has_chosen_codes() ||
           std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const PlanStep& step) {
             const auto* scales = std::get_if<SequentialMse>(&step.kind);
             return scales != nullptr && scales->weight.node == layer_.node;
           });
  }
  bool has_chosen_codes() const {
    return std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const PlanStep& step) {
      const RoundedWeight* codes = chosen_codes(step.kind);
      return codes != nullptr && codes->weight.node == layer_.node;
    });
  }
  const Node* node_of_layer() const {
    const auto id = graph_.find_node(layer_.node);
    return id ? &graph_.node(*id) : nullptr;
  }
  /// An Add that alone reads what the layer makes: its bias.
  bool is_behind(const std::string& node) const {
    const Node* layer = node_of_layer();
    const auto id = graph_.find_node(node);
    return layer != nullptr && id && graph_.node(*id).is("Add") &&
           (graph_.node(*id).input(0) == layer->output(0) ||
            graph_.node(*id).input(1) == layer->output(0));
  }

  const RemedySource& source_;
  const QuantizationPlan& plan_;
  const QuantizedLayer& layer_;
  const Graph& graph_;
  std::vector<Remedy> out_;
};

} // namespace

Result<std::vector<Remedy>> remedies_for(const RemedySource& source,
                                         const QuantizationPlan& plan,
                                         const QuantizedLayer& layer) {
  return RemedyList(source, plan, layer).run();
}

Result<Prescription> prescribe(PlanTrials& trials,
                               std::vector<Remedy> remedies,
                               const QuantizationPlan& plan,
                               double error,
                               const HeldBack& examples) {
  constexpr double kLeastGain = 0.1, kAsGood = 0.05, kOfFloat = 0.8;
  Prescription out;
  for (Remedy& remedy : remedies) {
    const QuantizationPlan changed = OCTET_TRY_WITH(remedy.change(plan), remedy.words);
    const double with = OCTET_TRY_WITH(trials.error_of(changed, examples), remedy.words);
    out.all.push_back({std::move(remedy), with, decibels(with) - decibels(error)});
  }
  const MeasuredRemedy *best = nullptr, *in_float = nullptr;
  for (const MeasuredRemedy& tried : out.all) {
    // More layers in float are for where this one alone takes nothing back.
    if (is_in_float(tried.remedy.name)) {
      if (in_float == nullptr || in_float->gain_db < kLeastGain) in_float = &tried;
    } else if (best == nullptr || error - tried.error > (1 + kAsGood) * (error - best->error)) {
      best = &tried;
    }
  }
  const bool float_is_better =
      in_float != nullptr &&
      (best == nullptr || !(error - best->error >= kOfFloat * (error - in_float->error)));
  if (float_is_better) best = in_float;
  if (best != nullptr && best->gain_db >= kLeastGain) out.best = *best;
  return out;
}

} // namespace octet
