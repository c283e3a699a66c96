// SPDX-License-Identifier: Apache-2.0
#include "cli/engine_build_report.h"

#include <algorithm>

#include "cli/terminal.h"
#include "core/format.h"
#include "report/table.h"
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

bool is_float(std::string_view precision) {
  return precision == "fp32" || precision == "fp16" || precision == "bf16" || precision == "fp64";
}

const EngineLayer* computing_layer(const EngineReport& report, const EngineNode& node) {
  if (node.layer < 0) return nullptr;
  const EngineLayer& layer = report.layers[static_cast<size_t>(node.layer)];
  return layer.work == EngineWork::kComputes ? &layer : nullptr;
}

std::vector<PrecisionShare> shares(const EngineReport& report) {
  std::vector<PrecisionShare> out;
  const auto of = [&](const std::string& precision) -> PrecisionShare& {
    const std::string& word = precision.empty() ? "untold" : precision;
    for (PrecisionShare& share : out)
      if (share.precision == word) return share;
    return out.emplace_back(PrecisionShare{word, 0, 0});
  };
  for (const EngineLayer& layer : report.layers)
    if (layer.work == EngineWork::kComputes) ++of(layer.precision).layers;
  double all = 0;
  for (const LayerForm& form : report.predicted)
    all += static_cast<double>(form.work);
  for (const EngineNode& node : report.nodes)
    if (const EngineLayer* layer = computing_layer(report, node); layer != nullptr && all > 0)
      of(layer->precision).work += static_cast<double>(report.predicted[node.predicted].work) / all;
  std::stable_sort(out.begin(), out.end(), [](const PrecisionShare& a, const PrecisionShare& b) {
    return a.layers > b.layers;
  });
  return out;
}

/// A value that the node reads or writes and the calibration has no range of.
const std::string*
without_range(const Graph& graph, NodeId id, const std::vector<std::string>& missing) {
  if (!id.valid()) return nullptr;
  const Node& node = graph.node(id);
  for (const auto* values : {&node.inputs, &node.outputs})
    for (const ValueId value : *values)
      if (value.valid())
        if (const auto found = std::find(missing.begin(), missing.end(), graph.value(value).name);
            found != missing.end())
          return &*found;
  return nullptr;
}

std::string why_float(const Graph& graph,
                      const std::vector<std::string>& missing,
                      const EngineBuildReport& report,
                      const EngineNode& node) {
  const LayerForm& predicted = report.layers.predicted[node.predicted];
  if (report.calibrated) {
    if (const std::string* value = without_range(graph, predicted.id, missing))
      return fmt::format("no range of \"{}\"", *value);
    return "the builder's choice";
  }
  if (!node.note.empty()) return node.note;
  if (predicted.precision == LayerPrecision::kFloat) return predicted.why;
  return fmt::format("the builder's choice: {} was predicted", predicted.precision_name());
}

nlohmann::ordered_json flags_json(const EngineFlags& flags) {
  nlohmann::ordered_json out = {{"strongly_typed", flags.strongly_typed},
                                {"fp16", flags.fp16},
                                {"bf16", flags.bf16},
                                {"fp8", flags.fp8},
                                {"int8", flags.int8},
                                {"tf32", nullptr}};
  if (flags.tf32) out["tf32"] = *flags.tf32;
  return out;
}

std::string precisions_text(const EngineBuildReport& report) {
  std::string out;
  for (const PrecisionShare& share : report.precisions)
    out += fmt::format(
        "{}{} {}{}", out.empty() ? "layers: " : ", ", share.layers, share.precision,
        share.work > 0 ? fmt::format(" ({:.1f} % of multiply-adds)", 100 * share.work) : "");
  const auto count = [&](EngineWork work) {
    return std::count_if(report.layers.layers.begin(), report.layers.layers.end(),
                         [&](const EngineLayer& layer) { return layer.work == work; });
  };
  if (const auto moving = count(EngineWork::kMoves); moving > 0)
    out += fmt::format("{}{} that move data", out.empty() ? "layers: " : ", ", moving);
  if (const auto regions = count(EngineWork::kRegion); regions > 0)
    out += fmt::format("{}{} regions of many nodes", out.empty() ? "layers: " : ", ", regions);
  return out.empty() ? out : out + "\n";
}

/// Products: of the other nodes only how many there are.
std::string in_float_text(const EngineBuildReport& report) {
  Table table({"product in float", "operator", "runs in", "why"});
  int64_t products = 0;
  for (const FloatNode& f : report.in_float) {
    const EngineNode& node = report.layers.nodes[f.node];
    const LayerForm& form = report.layers.predicted[node.predicted];
    if (form.work == 0) continue;
    ++products;
    table.add({form.node, form.op, report.layers.layers[static_cast<size_t>(node.layer)].precision,
               f.why.empty() ? "-" : f.why});
  }
  const auto others = static_cast<int64_t>(report.in_float.size()) - products;
  return (products > 0 ? table.text() : "") +
         (others > 0 ? fmt::format("{} other nodes run in float\n", others) : "");
}

} // namespace

void review_precisions(const Graph& graph,
                       const std::vector<std::string>& missing,
                       EngineBuildReport& report) {
  report.precisions = shares(report.layers);
  for (size_t i = 0; i < report.layers.nodes.size(); ++i) {
    const EngineNode& node = report.layers.nodes[i];
    const EngineLayer* layer = computing_layer(report.layers, node);
    if (layer == nullptr || !is_float(layer->precision) || node.verdict == EngineVerdict::kFused)
      continue;
    report.in_float.push_back({i, why_float(graph, missing, report, node)});
  }
}

nlohmann::ordered_json build_report_json(const EngineBuildReport& report,
                                         const nlohmann::ordered_json& calibration) {
  nlohmann::ordered_json precisions = nlohmann::ordered_json::array(),
                         in_float = nlohmann::ordered_json::array();
  for (const PrecisionShare& share : report.precisions)
    precisions.push_back(
        {{"precision", share.precision}, {"layers", share.layers}, {"work", share.work}});
  for (const FloatNode& f : report.in_float) {
    const EngineNode& node = report.layers.nodes[f.node];
    const LayerForm& form = report.layers.predicted[node.predicted];
    const EngineLayer& layer = report.layers.layers[static_cast<size_t>(node.layer)];
    in_float.push_back({{"node", form.node},
                        {"op", form.op},
                        {"precision", layer.precision},
                        {"layer", layer.name},
                        {"why", f.why}});
  }
  nlohmann::ordered_json out = {{"engine", report.engine},
                                {"size_bytes", report.size_bytes},
                                {"seconds", report.seconds},
                                {"tensorrt", report.version},
                                {"device", report.device},
                                {"flags", flags_json(report.flags)},
                                {"timing_cache", name(report.timing_cache)},
                                {"calibration", calibration},
                                {"precisions", std::move(precisions)},
                                {"in_float", std::move(in_float)}};
  nlohmann::ordered_json layers = report_json(report.layers);
  if (report.calibrated) layers.erase("summary"); // verdicts on what was never predicted
  out.update(layers);
  return out;
}

std::string build_report_text(const EngineBuildReport& report, const std::string& calibration) {
  return fmt::format("{}{}{}{}: {}, built by TensorRT {} on {} in {}: {}{}{}\n",
                     report.calibrated ? "" : nodes_text(report.layers, ShowNodes::kOtherwise),
                     precisions_text(report), in_float_text(report), report.engine,
                     bytes_text(static_cast<int64_t>(report.size_bytes)), report.version,
                     report.device, duration_text(report.seconds), flags_text(report.flags),
                     calibration.empty() ? "" : "; " + calibration,
                     report.timing_cache == TimingCacheUse::kUsed ? "; timing cache used" : "");
}

} // namespace octet::cli
