// SPDX-License-Identifier: Apache-2.0
// Include and exclude patterns over node names and operators, and near misses.
#include <algorithm>

#include "core/format.h"
#include "core/string_util.h"
#include "quant/place.h"
#include "quant/scheme.h"

namespace octet {

namespace {

bool separates(char c) {
  return c == '/' || c == '.';
}

/// Whether a pattern without wildcards is one or more whole components of a path: "pooler" of
/// "bert.pooler/dense".
bool is_component(std::string_view pattern, std::string_view name) {
  if (pattern.empty() || pattern.find_first_of("*?") != std::string_view::npos) return false;
  for (size_t at = name.find(pattern); at != std::string_view::npos;
       at = name.find(pattern, at + 1)) {
    const size_t end = at + pattern.size();
    if ((at == 0 || separates(name[at - 1])) && (end == name.size() || separates(name[end])))
      return true;
  }
  return false;
}

bool matches(std::string_view pattern, const Node& node) {
  return is_component(pattern, node.name) || glob_match(pattern, node.name) ||
         glob_match(pattern, node.op_type);
}

bool matches(const std::vector<std::string>& patterns, const Node& node) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return matches(p, node); });
}

} // namespace

std::optional<Placed> pattern_verdict(const QuantizeOptions& options, const Node& node) {
  if (matches(options.exclude, node)) return Placed::kExcluded;
  if (!options.include.empty() && !matches(options.include, node)) return Placed::kNotIncluded;
  return std::nullopt;
}

bool matches(const LayerFormat& layer, const Node& node) {
  return layer.exact ? layer.pattern == node.name : matches(layer.pattern, node);
}

NodeFormat node_format(const QuantizeOptions& options, const Node& node) {
  NodeFormat out{options.weight_bits, options.per_channel, options.activation_bits, {},
                 options.weights,     options.activations};
  // Rows of tables are gathered as bytes, whatever products take.
  if (node.is("Gather") && !out.byte_weights()) out.weights.reset();
  for (const LayerFormat& layer : options.layers) {
    if (!matches(layer, node)) continue;
    if (layer.weight_bits) out.weights.reset();
    if (layer.activation_bits) out.activations.reset();
    out.weight_bits = layer.weight_bits.value_or(out.weight_bits);
    out.per_channel = layer.per_channel.value_or(out.per_channel);
    out.activation_bits = layer.activation_bits.value_or(out.activation_bits);
    if (layer.calibrator) out.calibrator = layer.calibrator;
    if (layer.weights) out.weights = layer.weights;
    if (layer.activations) out.activations = layer.activations;
    if (layer.activations || layer.activation_bits || layer.dynamic) out.dynamic = layer.dynamic;
  }
  if (out.weights) out.weight_bits = all_bits(out.weights->type);
  if (out.activations) out.activation_bits = all_bits(out.activations->type);
  return out;
}

Status check_patterns(const Graph& graph, const QuantizeOptions& options) {
  std::vector<std::string> all = options.include;
  all.insert(all.end(), options.exclude.begin(), options.exclude.end());
  for (const LayerFormat& layer : options.layers)
    if (!layer.exact) all.push_back(layer.pattern);
  const std::vector<NodeId> nodes = graph.nodes();
  for (const std::string& pattern : all) {
    if (std::any_of(nodes.begin(), nodes.end(),
                    [&](NodeId id) { return matches(pattern, graph.node(id)); }))
      continue;
    std::vector<std::string> names;
    for (const NodeId id : nodes) {
      names.push_back(graph.node(id).name);
      names.push_back(graph.node(id).op_type);
    }
    const auto near = nearest_match(pattern, names);
    return error("pattern \"{}\" matches no node and no operator of the graph{}", pattern,
                 near ? fmt::format("; did you mean \"{}\"?", *near) : "");
  }
  return ok_status();
}

} // namespace octet
