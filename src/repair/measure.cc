// SPDX-License-Identifier: Apache-2.0
// Data passes of repair: ranges of what is quantized, then what each change costs on the values
// that it meets, and the outputs of both graphs.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/live_uses.h"
#include "ops/qdq/grid.h"
#include "quant/calibrate.h"
#include "repair/dynamic.h"
#include "repair/probe.h"
#include "repair/rule.h"
#include "targets/checks.h"
#include "targets/tensorrt/attention.h"

namespace octet {

namespace {

bool is_float_value(const Graph& graph, ValueId value) {
  return value.valid() && graph.constant(value) == nullptr &&
         is_float(graph.value(value).type.type);
}

Result<std::unique_ptr<Executor>> make(const Graph& graph, const RepairOptions& options) {
  return options.executor ? options.executor(graph) : make_reference_executor(graph);
}

/// One probe with its executors.
struct RunningProbe {
  size_t change;
  std::unique_ptr<Executor> before, after;
  double worst = 0;

  Status add(const Tensor& x) {
    const std::vector<Tensor> inputs = {x};
    const auto was = OCTET_TRY(before->run(inputs)), is = OCTET_TRY(after->run(inputs));
    worst = std::max(worst, largest_difference(was.at(0), is.at(0)));
    return ok_status();
  }
};

/// Pairs of Q and DQ whose scale cannot be used would fill all that follows with zeros or NaN: what
/// they read goes on in their place.
Graph without_broken_pairs(const Graph& graph) {
  Graph out = graph;
  LiveUses uses(out);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const Node* before = is_dequantize(node) ? graph.producer(node.input(0)) : nullptr;
    if (before == nullptr || !is_quantize(*before)) continue;
    const Tensor* scale = qdq::written(graph, node).scales;
    bool usable = true;
    for (int64_t i = 0; scale != nullptr && i < scale->count(); ++i)
      usable = usable && qdq::is_usable_scale(scale->at(i));
    if (!usable) uses.replace(out, node.output(0), before->input(0));
  }
  return out;
}

class Measurement {
 public:
  Measurement(const Graph& before,
              const RepairOptions& options,
              std::span<const std::optional<Probe>> probes,
              Repaired& repaired)
      : before_(before), options_(options), all_probes_(probes), repaired_(repaired) {}

  Status prepare() {
    for (size_t i = 0; i < all_probes_.size(); ++i) {
      const auto& probe = all_probes_[i];
      const auto value = probe ? repaired_.graph.find_value(probe->value) : std::nullopt;
      if (!value) continue;
      probes_[*value].push_back({i, OCTET_TRY(make(probe->before, options_)),
                                 OCTET_TRY(make(probe->after, options_)), 0});
    }
    Graph tapped = repaired_.graph;
    for (const auto& [value, probes] : probes_)
      if (tapped.value(value).kind == ValueKind::kNodeOutput && !repaired_.graph.is_output(value))
        tapped.mark_output(value);
    tapped_ = tapped.outputs();
    was_ = OCTET_TRY(make(before_, options_));
    is_ = OCTET_TRY(make(tapped, options_));
    differences_.assign(before_.outputs().size(), 0.0);
    return ok_status();
  }

  Status add(std::span<const Tensor> inputs) {
    const auto was = OCTET_TRY_WITH(was_->run(inputs), "the graph as it came");
    const auto& all = repaired_.graph.inputs();
    for (size_t i = 0; i < all.size(); ++i)
      OCTET_TRY(add(all[i], inputs[i]));
    const auto compare = [&](size_t output, const Tensor& value) -> Status {
      if (output < differences_.size())
        differences_[output] =
            std::max(differences_[output], largest_difference(was[output], value));
      return add(tapped_[output], value);
    };
    OCTET_TRY_WITH(is_->stream(inputs, compare), "the repaired graph");
    return ok_status();
  }

  void finish() {
    for (const auto& [value, probes] : probes_)
      for (const RunningProbe& probe : probes) {
        Change& change = repaired_.changes[probe.change];
        change.max_error = probe.worst;
        change.measured = true;
      }
    for (size_t i = 0; i < differences_.size(); ++i)
      repaired_.outputs.push_back({before_.value(before_.outputs()[i]).name, differences_[i]});
  }

 private:
  /// To the probes of one value.
  Status add(ValueId value, const Tensor& tensor) {
    const auto found = probes_.find(value);
    if (found == probes_.end()) return ok_status();
    for (RunningProbe& probe : found->second)
      OCTET_TRY(probe.add(tensor));
    return ok_status();
  }

  const Graph& before_;
  const RepairOptions& options_;
  std::span<const std::optional<Probe>> all_probes_;
  Repaired& repaired_;
  std::map<ValueId, std::vector<RunningProbe>> probes_; ///< by what they run on
  std::vector<ValueId> tapped_;                         ///< the outputs of the tapped graph
  std::unique_ptr<Executor> was_, is_;
  std::vector<double> differences_;
};

/// Where Q and DQ may be placed.
std::vector<ValueId> attention_values(const Graph& graph, const RepairOptions& options) {
  std::vector<ValueId> out;
  if (options.attention != AttentionForm::kInt8) return out;
  for (const Attention& attention : find_attention(graph, Uses(graph))) {
    const Node& scores = graph.node(attention.scores);
    const Node& context = graph.node(attention.context);
    for (const ValueId id :
         {scores.input(0), scores.input(1), context.input(0), context.input(1), context.output(0)})
      out.push_back(id);
  }
  return out;
}

} // namespace

Result<ObservedRanges> observe_ranges(const Graph& original, const RepairOptions& options) {
  const Graph graph = without_broken_pairs(original);
  std::vector<ObserveRequest> requests;
  std::set<ValueId> requested;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool dynamic =
        node.is("DynamicQuantizeLinear") || node.is("DynamicQuantizeMatMul", kMicrosoft);
    const ValueId x = node.input(0);
    if ((!dynamic && !is_quantize(node)) || !is_float_value(graph, x) ||
        !requested.insert(x).second)
      continue;
    if (dynamic)
      requests.push_back({x, dynamic_scheme(options.zero_points), MinMax{}});
    else
      requests.push_back({x, Scheme{}});
  }
  for (const ValueId x : attention_values(graph, options))
    if (is_float_value(graph, x) && requested.insert(x).second) requests.push_back({x, Scheme{}});
  QuantizeOptions how;
  how.executor = options.executor;
  how.mask_input = options.mask_input;
  const Calibration seen = OCTET_TRY(calibrate(graph, requests, options.data(), how, 0));
  ObservedRanges out;
  for (const auto& [value, observation] : seen.values)
    out[graph.value(value).name] = observation.range;
  return out;
}

namespace {

Status measure(const Graph& before,
               const RepairOptions& options,
               std::span<const std::optional<Probe>> probes,
               Repaired& repaired) {
  Measurement measurement(before, options, probes, repaired);
  OCTET_TRY(measurement.prepare());
  const CalibrationSource source = options.data();
  while (const auto inputs = OCTET_TRY(source()))
    OCTET_TRY(measurement.add(*inputs));
  repaired.outputs.clear();
  measurement.finish();
  return ok_status();
}

} // namespace

Status measure(const Graph& before,
               const RepairOptions& options,
               const RepairDriver& driver,
               Repaired& repaired) {
  return measure(before, options, driver.probes(), repaired);
}

Status measure_outputs(const Graph& before, const RepairOptions& options, Repaired& repaired) {
  return measure(before, options, std::span<const std::optional<Probe>>(), repaired);
}

} // namespace octet
