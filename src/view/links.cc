// SPDX-License-Identifier: Apache-2.0
#include "view/links.h"

#include <algorithm>
#include <string_view>

#include "core/format.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "passes/rewrite.h"
#include "passes/standardize/coded_operators.h"
#include "quant/prepare.h"
#include "quant/see/pairs.h"

namespace octet::view {
namespace {

/// Where a name of a node, of its origins or of what it makes is in a picture.
class Finder {
 public:
  explicit Finder(const Picture& picture) : picture_(picture), maker_(picture.values.size(), -1) {
    for (size_t i = 0; i < picture.nodes.size(); ++i)
      for (const int32_t made : picture.nodes[i].outputs)
        if (made >= 0) maker_[static_cast<size_t>(made)] = static_cast<int32_t>(i);
  }

  int32_t node(std::string_view name) const {
    const auto found = picture_.node_named.find(name);
    return found == picture_.node_named.end() || !drawn(found->second) ? -1 : found->second;
  }
  int32_t maker(std::string_view value) const {
    const auto found = picture_.value_named.find(value);
    return found == picture_.value_named.end() ? -1 : maker_[static_cast<size_t>(found->second)];
  }
  /// By its own name, else those of its origins, else what it makes.
  std::vector<int32_t> all(const Graph& graph, const Node& node) const {
    if (const int32_t own = this->node(name_of(graph, node)); own >= 0) return {own};
    std::vector<int32_t> out;
    for (const std::string& name : node.origin)
      if (const int32_t from = this->node(name); from >= 0) out.push_back(from);
    if (out.empty() && node.output(0).valid())
      if (const int32_t made = maker(graph.value(node.output(0)).name); made >= 0)
        out.push_back(made);
    return out;
  }

 private:
  bool drawn(int32_t i) const { return picture_.nodes[static_cast<size_t>(i)].drawn; }

  const Picture& picture_;
  std::vector<int32_t> maker_;
};

void tidy(Links& links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
}

/// As debug sees them. Nothing where the two are not a float model and a quantized one.
void add_pairs(
    const Graph& first, const Picture& one, const Graph& second, const Picture& two, Links& links) {
  Result<Graph> prepared = prepare_for_quantization(first);
  Graph coded = second;
  if (!prepared.ok() || !infer_types(coded).ok() || !rewrite(coded, coded_operator_rules()).ok() ||
      !infer_types(coded).ok())
    return;
  const Result<ModelPairs> pairs = pair_models(*prepared, coded);
  if (!pairs.ok()) return;
  const Finder left(one), right(two);
  for (const NodePair& pair : pairs->nodes)
    for (const int32_t a : left.all(*prepared, prepared->node(pair.in_float)))
      for (const int32_t b : right.all(coded, coded.node(pair.in_quantized)))
        links.emplace_back(a, b);
}

} // namespace

Links link_models(const Graph& first, const Picture& one, const Graph& second, const Picture& two) {
  Links out;
  add_pairs(first, one, second, two, out);
  const Finder left(one), right(two);
  std::vector<bool> known(one.nodes.size(), false), known_there(two.nodes.size(), false);
  for (const auto& [a, b] : out)
    known[static_cast<size_t>(a)] = known_there[static_cast<size_t>(b)] = true;
  const auto add = [&](int32_t a, int32_t b) {
    if (a >= 0 && b >= 0) out.emplace_back(a, b);
  };
  for (size_t i = 0; i < one.nodes.size(); ++i) {
    const PictureNode& node = one.nodes[i];
    if (!node.drawn || known[i]) continue;
    int32_t there = right.node(one.key(node.scope, node.name));
    if (there < 0 && !node.outputs.empty() && node.outputs.front() >= 0)
      there = right.maker(
          one.key(node.scope, one.values[static_cast<size_t>(node.outputs.front())].name));
    if (there < 0 || known_there[static_cast<size_t>(there)]) continue;
    add(static_cast<int32_t>(i), there);
  }
  tidy(out);
  return out;
}

Links link_layers(const Picture& model,
                  const Picture& engine,
                  const std::vector<LayerForm>& predicted,
                  const std::vector<EngineNode>& nodes) {
  Links out;
  const Finder left(model);
  for (const EngineNode& node : nodes)
    if (const int32_t at = left.node(predicted[node.predicted].node); at >= 0 && node.layer >= 0)
      out.emplace_back(at, static_cast<int32_t>(node.layer));
  for (size_t i = 0; i < engine.nodes.size(); ++i)
    if (const auto origin = engine.nodes[i].facts.find("origin");
        origin != engine.nodes[i].facts.end())
      for (const auto& name : *origin)
        if (const int32_t at = left.node(name.get<std::string>()); at >= 0)
          out.emplace_back(at, static_cast<int32_t>(i));
  tidy(out);
  return out;
}

void mark_otherwise(Picture& model,
                    Picture& engine,
                    const std::vector<LayerForm>& predicted,
                    const std::vector<EngineLayer>& layers,
                    const std::vector<EngineNode>& nodes) {
  const Finder left(model);
  for (const EngineNode& node : nodes) {
    if (node.verdict != EngineVerdict::kOtherwise) continue;
    const LayerForm& form = predicted[node.predicted];
    const auto layer = static_cast<size_t>(node.layer);
    const std::string text = node.note.empty()
                                 ? fmt::format("predicted {}, the engine runs {}",
                                               form.precision_name(), layers[layer].precision)
                                 : node.note;
    engine.nodes[layer].facts["otherwise"].push_back(form.node + ": " + text);
    if (const int32_t at = left.node(form.node); at >= 0)
      model.nodes[static_cast<size_t>(at)].facts["otherwise"].push_back(text);
  }
}

} // namespace octet::view
