// SPDX-License-Identifier: Apache-2.0
#include "cli/engine_report.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/atomic_file.h"
#include "core/format.h"
#include "report/table.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

constexpr EngineVerdict kVerdicts[] = {EngineVerdict::kAsPredicted, EngineVerdict::kOtherwise,
                                       EngineVerdict::kFused,       EngineVerdict::kNotPredicted,
                                       EngineVerdict::kMoves,       EngineVerdict::kGone,
                                       EngineVerdict::kUntold};

int64_t count(const EngineReport& report, EngineVerdict verdict) {
  return std::count_if(report.nodes.begin(), report.nodes.end(),
                       [&](const EngineNode& n) { return n.verdict == verdict; });
}

/// Fused layers have names of hundreds of letters.
std::string clipped(const std::string& name) {
  constexpr size_t kWidth = 48;
  if (name.size() <= kWidth) return name;
  return name.substr(0, kWidth / 2) + "..." + name.substr(name.size() - kWidth / 2 + 3);
}

const EngineLayer* layer_of(const EngineReport& report, const EngineNode& node) {
  return node.layer < 0 ? nullptr : &report.layers[static_cast<size_t>(node.layer)];
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::map<std::string_view, double> times_by_layer(const EngineReport& report) {
  std::map<std::string_view, double> out;
  for (const LayerTime& t : report.times)
    out[t.layer] += t.ms;
  return out;
}

} // namespace

Result<std::string> engine_target(const std::string& flag, const std::string& version) {
  if (!flag.empty()) {
    std::string target = OCTET_TRY(parse_target(flag));
    if (!target.starts_with("tensorrt"))
      return error("an engine runs on TensorRT; take a target tensorrt-8.6 to tensorrt-11, not {}",
                   target);
    return target;
  }
  Result<std::string> exact = parse_target("tensorrt-" + version);
  return exact.ok() ? std::move(exact)
                    : parse_target("tensorrt-" + version.substr(0, version.find('.')));
}

Result<std::unique_ptr<Engine>>
open_engine(EngineApi& api, const std::string& file, const Graph& graph) {
  constexpr size_t kLargest = size_t{64} << 30;
  const std::string bytes = OCTET_TRY(read_file(file, kLargest));
  std::vector<std::string> inputs, outputs;
  for (const ValueId id : graph.inputs())
    inputs.push_back(graph.value(id).name);
  for (const ValueId id : graph.outputs())
    outputs.push_back(graph.value(id).name);
  return api.load(bytes, inputs, outputs).with(file);
}

Result<EngineReport> make_engine_report(const Graph& graph,
                                        const std::string& model,
                                        const std::string& target,
                                        const std::string& layers) {
  EngineReport out{model, target, {}, {}, {}, {}};
  out.predicted = OCTET_TRY_WITH(explain(graph, target), model);
  out.layers = OCTET_TRY(parse_engine_layers(layers));
  out.nodes = compare_engine(out.predicted, out.layers);
  return out;
}

nlohmann::ordered_json report_json(const EngineReport& report) {
  nlohmann::ordered_json summary, nodes = nlohmann::ordered_json::array(),
                                  layers = nlohmann::ordered_json::array();
  for (const EngineVerdict verdict : kVerdicts)
    summary[std::string(name(verdict))] = count(report, verdict);
  for (const EngineNode& n : report.nodes) {
    const LayerForm& predicted = report.predicted[n.predicted];
    const EngineLayer* layer = layer_of(report, n);
    nodes.push_back({{"node", predicted.node},
                     {"op", predicted.op},
                     {"predicted", predicted.precision_name()},
                     {"precision", layer == nullptr ? "" : layer->precision},
                     {"layer", layer == nullptr ? "" : layer->name},
                     {"verdict", std::string(name(n.verdict))},
                     {"note", n.note},
                     {"why", predicted.why}});
  }
  const auto precisions = predicted_precisions(report.predicted, report.layers, report.nodes);
  const auto times = times_by_layer(report);
  for (size_t i = 0; i < report.layers.size(); ++i) {
    const EngineLayer& l = report.layers[i];
    nlohmann::ordered_json layer = {{"name", l.name},           {"type", l.type},
                                    {"tactic", l.tactic},       {"predicted", precisions[i]},
                                    {"precision", l.precision}, {"origin", l.origin}};
    if (const auto ms = times.find(l.name); ms != times.end()) layer["ms"] = ms->second;
    layers.push_back(std::move(layer));
  }
  return {{"model", report.model},
          {"target", report.target},
          {"summary", std::move(summary)},
          {"nodes", std::move(nodes)},
          {"layers", std::move(layers)}};
}

std::string nodes_text(const EngineReport& report, ShowNodes which) {
  Table table({"node", "operator", "predicted", "runs in", "layer of the engine", "verdict"});
  bool shown = false;
  for (const EngineNode& n : report.nodes) {
    const bool other =
        n.verdict == EngineVerdict::kOtherwise || n.verdict == EngineVerdict::kUntold;
    if (which == ShowNodes::kOtherwise && !other) continue;
    shown = true;
    const LayerForm& predicted = report.predicted[n.predicted];
    const EngineLayer* layer = layer_of(report, n);
    table.add({predicted.node, predicted.op, std::string(predicted.precision_name()),
               layer == nullptr ? "-" : or_dash(layer->precision),
               layer == nullptr ? "-" : clipped(layer->name),
               n.note.empty() ? std::string(name(n.verdict)) : n.note});
  }
  std::string summary;
  for (const EngineVerdict verdict : kVerdicts)
    if (const int64_t nodes = count(report, verdict); nodes > 0)
      summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", nodes, name(verdict));
  return fmt::format("{}{} against {}: {} layers; of {} nodes {}\n", shown ? table.text() : "",
                     report.model, report.target, report.layers.size(), report.nodes.size(),
                     summary.empty() ? "none" : summary);
}

std::string times_text(const EngineReport& report) {
  std::map<std::string_view, size_t> index;
  for (size_t i = 0; i < report.layers.size(); ++i)
    index.emplace(report.layers[i].name, i);
  const auto precisions = predicted_precisions(report.predicted, report.layers, report.nodes);
  const double all = std::accumulate(report.times.begin(), report.times.end(), 0.0,
                                     [](double sum, const LayerTime& t) { return sum + t.ms; });
  std::vector<LayerTime> times = report.times;
  std::stable_sort(times.begin(), times.end(),
                   [](const LayerTime& a, const LayerTime& b) { return a.ms > b.ms; });
  Table table({"layer of the engine", "kind", "predicted", "runs in", "ms", "share %"});
  double int8 = 0;
  for (const LayerTime& t : times) {
    const auto found = index.find(t.layer);
    const EngineLayer* layer = found == index.end() ? nullptr : &report.layers[found->second];
    if (layer != nullptr && layer->precision == "int8") int8 += t.ms;
    table.add({clipped(t.layer), layer == nullptr ? "-" : or_dash(layer->type),
               layer == nullptr ? "-" : or_dash(precisions[found->second]),
               layer == nullptr ? "-" : or_dash(layer->precision), fmt::format("{:.4f}", t.ms),
               fmt::format("{:.1f}", all > 0 ? 100 * t.ms / all : 0.0)});
  }
  return fmt::format("{}{:.4f} ms in all layers, {:.1f} % of it in int8\n", table.text(), all,
                     all > 0 ? 100 * int8 / all : 0.0);
}

} // namespace octet::cli
