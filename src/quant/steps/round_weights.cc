// SPDX-License-Identifier: Apache-2.0
//   op(x, W)  =>  op(x, codes * scales)
// The plan's ranges stay: its scales give exactly these codes when the weight is quantized.
#include "quant/steps/round_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "graph/label.h"
#include "quant/calibrate.h"
#include "quant/channels.h"
#include "quant/gram/gram.h"
#include "quant/steps/rounded_layer.h"

namespace octet {

namespace {

/// Matrices that are collected in one pass over the data, unless one alone has more.
constexpr int64_t kBytesOfPass = int64_t{512} << 20;

/// Matrices of values that are read, each once; a value that layers read in more than one way is
/// read in as many passes.
struct GramPass {
  std::map<ValueId, std::unique_ptr<Gram>> grams;
  std::vector<RoundedLayer> layers;
  int64_t bytes = 0;
};

class RoundingFitter {
 public:
  RoundingFitter(const Fitting& f, const RoundingAlgorithm& with)
      : f_(f), with_(with), workers_(f.options.threads) {}

  Result<std::vector<PlanStep>> run() {
    OCTET_TRY(find());
    std::vector<PlanStep> out;
    for (GramPass& pass : passes_) {
      OCTET_TRY(collect_pass(pass));
      for (const RoundedLayer& layer : pass.layers) {
        auto step = OCTET_TRY(round(layer, *pass.grams.at(input_of(layer))));
        if (step) out.push_back(std::move(*step));
      }
      pass.grams.clear();
    }
    return out;
  }

 private:
  ValueId input_of(const RoundedLayer& layer) const { return f_.graph.node(layer.node).input(0); }

  std::string id_of(const Node& node) const { return fmt::format("{}/{}", with_.name, node.name); }

  Status find() {
    for (RoundedLayer& layer : OCTET_TRY(rounded_layers(f_))) {
      const Node& node = f_.graph.node(layer.node);
      if (has_codes(f_.plan, node.name) || f_.excluded(id_of(node))) continue;
      add(std::move(layer));
    }
    return ok_status();
  }

  void add(RoundedLayer layer) {
    const ValueId x = input_of(layer);
    const int64_t bytes = Gram::bytes_for(layer.rows);
    for (GramPass& pass : passes_) {
      const auto known = pass.grams.find(x);
      const bool same = known != pass.grams.end() && !layer.rows.is_convolution() &&
                        !known->second->rows().is_convolution();
      if (known != pass.grams.end() && !same) continue;
      if (!same && pass.bytes + bytes > kBytesOfPass) continue;
      put(pass, std::move(layer), same ? 0 : bytes);
      return;
    }
    put(passes_.emplace_back(), std::move(layer), bytes);
  }

  void put(GramPass& pass, RoundedLayer layer, int64_t bytes) {
    if (bytes > 0)
      pass.grams.emplace(input_of(layer), std::make_unique<Gram>(layer.rows, workers_));
    pass.bytes += bytes;
    pass.layers.push_back(std::move(layer));
  }

  Status collect_pass(GramPass& pass) {
    std::vector<StatisticRequest> requests;
    requests.reserve(pass.grams.size());
    for (auto& [value, gram] : pass.grams)
      requests.push_back({value, gram.get()});
    return collect(f_.graph, requests, OCTET_TRY(f_.open()), f_.options, f_.samples);
  }

  /// Codes of all groups of a layer and what they do to its output.
  struct Choice {
    std::vector<double> codes; ///< in the weight's order
    double error = 0;          ///< sum of squares over the judged rows
  };

  template <class Choose>
  Choice choose(const RoundedLayer& layer, const Gram& gram, const Choose& codes_of) {
    Choice out;
    out.codes.resize(weights_.size());
    for (int64_t g = 0; g < layer.form.groups; ++g) {
      const RoundingProblem problem = layer.problem(weights_, g);
      const Codes2d codes = codes_of(problem, g);
      out.error += output_error(problem, codes, gram.matrix(Gram::Part::kJudged, g), workers_);
      for (int64_t m = 0; m < problem.outputs; ++m)
        for (int64_t k = 0; k < problem.columns; ++k)
          out.codes[static_cast<size_t>(layer.form.element(g * problem.outputs + m, k))] =
              codes[static_cast<size_t>(m * problem.columns + k)];
    }
    return out;
  }

  Choice choose(const RoundedLayer& layer, const Gram& gram, ChooseCodes with, double damping) {
    return choose(layer, gram, [&](const RoundingProblem& problem, int64_t group) {
      const std::vector<double> all = gram.matrix(Gram::Part::kFitted, group);
      const bool nothing = std::all_of(all.begin(), all.end(), [](double v) { return v == 0; });
      return nothing ? nearest_codes(problem)
                     : with(problem, damped(all, problem.columns, damping), workers_);
    });
  }

  Result<std::optional<PlanStep>> round(const RoundedLayer& layer, const Gram& gram) {
    weights_ = OCTET_TRY(f_.graph.constant(f_.graph.node(layer.node).input(1))->to_doubles());
    const Choice nearest =
        choose(layer, gram, [](const RoundingProblem& p, int64_t) { return nearest_codes(p); });
    Choice best = nearest;
    double best_damping = 0;
    for (const double damping : {0.01, 0.1, 1.0}) {
      OCTET_TRY(report());
      Choice tried = choose(layer, gram, with_.quick, damping);
      if (!(tried.error < best.error)) continue;
      best = std::move(tried);
      best_damping = damping;
    }
    if (best_damping == 0) return std::optional<PlanStep>();
    if (with_.thorough != nullptr) {
      OCTET_TRY(report());
      Choice tried = choose(layer, gram, with_.thorough, best_damping);
      if (tried.error < best.error) best = std::move(tried);
    }
    constexpr double kWorth = 0.99 * 0.99; // of squares: 1 % of the error
    if (best.error > kWorth * nearest.error) return std::optional<PlanStep>();
    return std::optional(step_of(layer, gram, nearest, best, best_damping));
  }

  PlanStep step_of(const RoundedLayer& layer,
                   const Gram& gram,
                   const Choice& nearest,
                   const Choice& best,
                   double damping) const {
    const Node& node = f_.graph.node(layer.node);
    int64_t moved = 0;
    for (size_t i = 0; i < best.codes.size(); ++i)
      moved += best.codes[i] != nearest.codes[i] ? 1 : 0;
    PlanStep out;
    out.id = id_of(node);
    out.kind = with_.kind(layer.with_codes(node.name, best.codes));
    for (const PlanStep& step : f_.plan.steps)
      if (stage(step.kind) == StepStage::kFloat || of_weights(step, node.name))
        out.needs.push_back(step.id);
    const double outputs = static_cast<double>(gram.row_count(Gram::Part::kJudged)) *
                           static_cast<double>(layer.form.outputs);
    out.before = std::sqrt(nearest.error / std::max(outputs, 1.0));
    out.after = std::sqrt(std::max(best.error, 0.0) / std::max(outputs, 1.0));
    out.why =
        fmt::format("{:.1f} % of {} codes are not the nearest; damping {}",
                    100.0 * static_cast<double>(moved) / static_cast<double>(best.codes.size()),
                    best.codes.size(), damping);
    return out;
  }

  /// Whether an earlier step took the scales of a node's weights.
  static bool of_weights(const PlanStep& step, const std::string& node) {
    const std::string* changed = changed_weights(step.kind);
    return stage(step.kind) == StepStage::kWeights && changed != nullptr && *changed == node;
  }

  Status report() const {
    const auto& progress = f_.options.progress;
    if (!progress || progress(f_.samples, f_.samples)) return ok_status();
    return error(ErrorCode::kCancelled, "stopped while codes were chosen");
  }

  const Fitting& f_;
  const RoundingAlgorithm& with_;
  ThreadPool workers_;
  std::vector<GramPass> passes_;
  std::vector<double> weights_; ///< of the layer that is looked at, in their own order
};

} // namespace

namespace {

/// What the codes of a step stand for.
Result<std::vector<float>> numbers_of(const RoundedWeight& step) {
  std::vector<float> out = OCTET_TRY(step.codes.to_floats());
  if (step.type.empty()) return out;
  const auto type = parse_dtype(step.type);
  const FloatFormat* format = type ? float_format(*type) : nullptr;
  if (format == nullptr || format->width() > 8)
    return error("codes of the type \"{}\": it is a floating-point format of at most 8 bits, or "
                 "empty for whole numbers",
                 step.type);
  const auto limit = 1U << static_cast<uint32_t>(format->width());
  for (size_t i = 0; i < out.size(); ++i) {
    const auto code = static_cast<uint32_t>(
        static_cast<uint8_t>(static_cast<int8_t>(step.codes.at(static_cast<int64_t>(i)))));
    const double number = code < limit ? decode(*format, code) : NAN;
    if (!std::isfinite(number))
      return error("code {} of element {} is no finite number of {}", code, i, step.type);
    out[i] = static_cast<float>(number);
  }
  return out;
}

} // namespace

Status apply_rounded(SteppedGraph& stepped, const RoundedWeight& step) {
  const NodeId id = OCTET_TRY(stepped.node(step.weight.node));
  const Graph& graph = stepped.graph();
  const Node& node = graph.node(id);
  if (step.weight.input != 1)
    return error("{}: its weights are input 1, not {}", label(graph, node), step.weight.input);
  WeightForm form = OCTET_TRY(weight_form(graph, node, 1));
  const ValueId weight = node.input(1);
  if (stepped.uses().count(weight) != 1)
    return error("others than {} read \"{}\"", label(graph, node), graph.value(weight).name);
  const Tensor& old = *graph.constant(weight);
  if (step.codes.type() != DType::kInt8 || step.codes.shape() != Shape{old.count()})
    return error("there are {} codes, \"{}\" has {} elements", step.codes.count(),
                 graph.value(weight).name, old.count());
  if (step.block < 0) return error("blocks of {} numbers", step.block);
  form.block = step.block;
  const int64_t scale_count = form.outputs * form.parts();
  if (step.scales.type() != DType::kFloat32 ||
      (step.scales.shape() != Shape{1} && step.scales.shape() != Shape{scale_count}))
    return error("scales have the shape {}, {} has {} outputs{}", to_string(step.scales.shape()),
                 label(graph, node), form.outputs,
                 form.block > 0 ? fmt::format(" of {} blocks", form.parts()) : "");
  const std::vector<float> scales = OCTET_TRY(step.scales.to_floats());
  for (const float s : scales)
    if (!std::isnormal(s) || !(s > 0)) return error("scales hold {}, which is no scale", s);
  std::vector<float> values = OCTET_TRY(numbers_of(step));
  for (int64_t m = 0; m < form.outputs; ++m)
    for (int64_t k = 0; k < form.columns; ++k)
      values[static_cast<size_t>(form.element(m, k))] *=
          scales[scales.size() == 1 ? 0 : static_cast<size_t>(form.scale(m, form.part(k)))];
  stepped.set_constant(id, 1, Tensor::of<float>(old.shape(), std::span<const float>(values)),
                       graph.value(weight).name);
  return ok_status();
}

Result<std::vector<PlanStep>> fit_rounding(const Fitting& fitting, const RoundingAlgorithm& with) {
  return RoundingFitter(fitting, with).run();
}

void rounded_members(RoundedWeight& step, StepMembers& to) {
  to.input("weight", step.weight);
  to.text("type", step.type);
  to.whole("block", step.block);
  to.codes("codes", step.codes);
  to.vector("scales", step.scales);
}

} // namespace octet
