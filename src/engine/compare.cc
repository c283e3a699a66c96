// SPDX-License-Identifier: Apache-2.0
// What an engine made of the layers that were predicted: matched by the ONNX nodes that its layers
// name. TensorRT's parser calls a node without a name "node_of_" and its first output.
#include <algorithm>
#include <map>
#include <set>

#include "core/format.h"

#include "octet/engine_layers.h"

namespace octet {
namespace {

using NodePlaces = std::map<std::string_view, size_t>;

/// Index in the explanation of the node that a layer names; -1: none, or a constant.
int64_t find_node(const NodePlaces& index, std::string_view name) {
  constexpr std::string_view kUnnamed = "node_of_";
  auto found = index.find(name);
  if (found == index.end() && name.starts_with(kUnnamed))
    found = index.find(name.substr(kUnnamed.size()));
  return found == index.end() ? -1 : static_cast<int64_t>(found->second);
}

/// Where several layers name a node, the one that does most of its work has the highest rank.
int rank(const EngineLayer& layer) {
  if (layer.work == EngineWork::kMoves) return 1;
  if (layer.work == EngineWork::kRegion) return 2;
  for (const std::string_view word : {"onv", "gemm", "Gemm", "atrix", "mha", "attention", "xmma"})
    if (layer.type.find(word) != std::string::npos || layer.tactic.find(word) != std::string::npos)
      return 4;
  return 3;
}

/// Regions name their ends only: what lies between them and is in no other layer is in the region.
void fill_regions(const NodePlaces& index,
                  const std::vector<EngineLayer>& layers,
                  std::vector<EngineNode>& nodes) {
  for (size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].work != EngineWork::kRegion) continue;
    size_t first = nodes.size(), last = 0;
    for (const std::string& name : layers[l].origin)
      if (const int64_t at = find_node(index, name); at >= 0) {
        first = std::min(first, static_cast<size_t>(at));
        last = std::max(last, static_cast<size_t>(at));
      }
    if (first == nodes.size()) { // its ends are constants or layers without a node: it may be any
      first = 0;
      last = nodes.empty() ? 0 : nodes.size() - 1;
    }
    for (size_t i = first; i <= last && i < nodes.size(); ++i)
      if (nodes[i].layer < 0) nodes[i].layer = static_cast<int64_t>(l);
  }
}

bool claims_precision(LayerPrecision predicted) {
  return predicted != LayerPrecision::kCodes && predicted != LayerPrecision::kFused;
}

/// kFloat promises no particular float. `real`: what the engine calls it.
bool same_precision(const LayerForm& predicted, std::string_view real) {
  if (predicted.precision == LayerPrecision::kFloat)
    return real == "fp32" || real == "fp16" || real == "bf16" || real == "fp64";
  return predicted.precision_name() == real;
}

EngineVerdict verdict_of(const LayerForm& predicted, const EngineLayer& layer, bool has_product) {
  const bool of_product = layer.work == EngineWork::kComputes && has_product && predicted.work == 0;
  if (of_product) return EngineVerdict::kFused;
  if (!claims_precision(predicted.precision)) return EngineVerdict::kNotPredicted;
  if (layer.work == EngineWork::kMoves) return EngineVerdict::kMoves;
  if (layer.precision.empty()) return EngineVerdict::kUntold;
  return same_precision(predicted, layer.precision) ? EngineVerdict::kAsPredicted
                                                    : EngineVerdict::kOtherwise;
}

/// For each layer, whether it computes a product; the rest of what it computes is fused with that.
std::vector<bool> layers_of_products(const std::vector<LayerForm>& predicted,
                                     const std::vector<EngineLayer>& layers,
                                     const std::vector<EngineNode>& nodes) {
  std::vector<bool> out(layers.size());
  for (const EngineNode& n : nodes)
    if (n.layer >= 0 && predicted[n.predicted].work > 0) out[static_cast<size_t>(n.layer)] = true;
  return out;
}

/// Nodes that were to become one kernel are told where they became several.
void check_fusions(const std::vector<LayerForm>& predicted,
                   const std::vector<EngineLayer>& layers,
                   std::vector<EngineNode>& nodes) {
  std::map<std::string_view, std::set<int64_t>> kernels;
  for (const EngineNode& n : nodes)
    if (const LayerForm& form = predicted[n.predicted]; !form.fusion.empty() && n.layer >= 0)
      if (layers[static_cast<size_t>(n.layer)].work == EngineWork::kComputes)
        kernels[form.fusion].insert(n.layer);
  for (EngineNode& n : nodes) {
    const auto found = kernels.find(predicted[n.predicted].fusion);
    if (found == kernels.end() || found->second.size() < 2) continue;
    n.verdict = EngineVerdict::kOtherwise;
    n.note =
        fmt::format("{} was predicted as one kernel and is {}", found->first, found->second.size());
  }
}

} // namespace

std::string_view name(EngineVerdict verdict) {
  switch (verdict) {
  case EngineVerdict::kAsPredicted:
    return "as predicted";
  case EngineVerdict::kOtherwise:
    return "otherwise";
  case EngineVerdict::kFused:
    return "fused";
  case EngineVerdict::kNotPredicted:
    return "not predicted";
  case EngineVerdict::kMoves:
    return "moves data";
  case EngineVerdict::kGone:
    return "gone";
  case EngineVerdict::kUntold:
    return "untold";
  }
  return {};
}

std::vector<EngineNode> compare_engine(const std::vector<LayerForm>& predicted,
                                       const std::vector<EngineLayer>& layers) {
  NodePlaces index;
  std::vector<EngineNode> nodes(predicted.size());
  for (size_t i = 0; i < predicted.size(); ++i) {
    index.emplace(predicted[i].node, i);
    nodes[i].predicted = i;
  }
  for (size_t l = 0; l < layers.size(); ++l)
    for (const std::string& name : layers[l].origin) {
      const int64_t at = find_node(index, name);
      if (at < 0) continue;
      EngineNode& node = nodes[static_cast<size_t>(at)];
      if (node.layer < 0 || rank(layers[l]) > rank(layers[static_cast<size_t>(node.layer)]))
        node.layer = static_cast<int64_t>(l);
    }
  fill_regions(index, layers, nodes);
  const std::vector<bool> products = layers_of_products(predicted, layers, nodes);
  for (EngineNode& n : nodes)
    if (const auto at = static_cast<size_t>(n.layer); n.layer >= 0)
      n.verdict = verdict_of(predicted[n.predicted], layers[at], products[at]);
  check_fusions(predicted, layers, nodes);
  return nodes;
}

std::vector<std::string> predicted_precisions(const std::vector<LayerForm>& predicted,
                                              const std::vector<EngineLayer>& layers,
                                              const std::vector<EngineNode>& nodes) {
  const std::vector<bool> products = layers_of_products(predicted, layers, nodes);
  std::vector<std::vector<std::string_view>> of(layers.size());
  for (const EngineNode& n : nodes) {
    const LayerForm& form = predicted[n.predicted];
    if (n.layer < 0 || !claims_precision(form.precision)) continue;
    const auto at = static_cast<size_t>(n.layer);
    if (products[at] && form.work == 0) continue;
    auto& seen = of[at];
    if (std::find(seen.begin(), seen.end(), form.precision_name()) == seen.end())
      seen.push_back(form.precision_name());
  }
  std::vector<std::string> out(layers.size());
  for (size_t i = 0; i < of.size(); ++i)
    out[i] = fmt::format("{}", fmt::join(of[i], " + "));
  return out;
}

} // namespace octet
