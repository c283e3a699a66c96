// SPDX-License-Identifier: Apache-2.0
// check and explain: the rules of the target over the model and every node, and how its layers
// run.
#include <algorithm>
#include <map>
#include <optional>

#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "targets/multiply_adds.h"
#include "targets/onnxruntime/prepared.h"
#include "targets/rule.h"

namespace octet {

namespace {

Result<std::vector<LayerForm>> layers_of(const Graph& graph, const TargetDef& target) {
  switch (target.family) {
  case TargetFamily::kTensorRt:
    return explain_tensorrt(graph, target);
  case TargetFamily::kOnnxRuntime:
    return explain_onnxruntime(graph, target);
  case TargetFamily::kOctet:
    return explain_octet(graph, target);
  }
  return std::vector<LayerForm>{};
}

/// Looks at a model and at the bodies in it. Findings come in the order of nodes, for each in that
/// of the rules; what is said of the model as a whole stands among those of the node that was added
/// first.
class Checker {
 public:
  /// `declared`: what the graph declares otherwise than it computes.
  Checker(const TargetDef& target, std::span<const Disagreement> declared)
      : target_(target), declared_(declared) {
    add_rules(rules_of(target.family));
    if (target.custom != nullptr) add_rules(custom_rules());
  }

  Result<std::vector<PlacedFinding>> check(const Graph& graph) {
    const std::vector<NodeId> nodes = graph.nodes();
    OCTET_TRY(look(graph, {}, nodes.empty() ? NodeId{} : nodes.front()));
    return std::move(findings_);
  }

 private:
  void add_rules(RuleList rules) {
    for (const TargetRule* rule : rules)
      if (rule->holds(target_)) rules_.push_back(rule);
  }

  /// `first`: the node with which rules of the model are asked; none in a body.
  Status look(const Graph& graph, const BodyPath& path, NodeId first) {
    const auto declared = first.valid() ? declared_ : std::span<const Disagreement>();
    const Uses uses(graph);
    const CheckContext as_written{graph, uses, target_, declared};
    const std::optional<Graph> other = onnxruntime_prepared(graph, target_);
    std::optional<Uses> uses_left;
    std::optional<CheckContext> prepared;
    if (other) prepared.emplace(CheckContext{*other, uses_left.emplace(*other), target_, declared});
    for (const NodeId id : OCTET_TRY(graph.topological())) {
      const bool stays = !other || other->alive(id);
      const CheckContext& context = prepared && stays ? *prepared : as_written;
      const Node& node = context.graph.node(id);
      for (const TargetRule* rule : rules_) {
        Found found(context, *rule, path, findings_);
        const auto* of_node = std::get_if<FindInNode*>(&rule->find);
        // What is gone needs no kernel and is fused with nothing.
        if (of_node != nullptr && (stays || rule->provider != Provider::kCpu))
          (*of_node)(context, node, found);
        else if (of_node == nullptr && id == first)
          std::get<FindInModel*>(rule->find)(context, found);
      }
      OCTET_TRY(bodies(graph, graph.node(id), path));
    }
    return ok_status();
  }

  /// What stands in the bodies of If, Loop and Scan, each named by the path to it. A body whose
  /// types do not fit is looked at with those that it declares.
  Status bodies(const Graph& graph, const Node& node, const BodyPath& path) {
    if (!has_bodies(node)) return ok_status();
    BodyPath below = path;
    below.steps.push_back({node.id, 0});
    for (const auto& [key, body] : bodies_of(node)) {
      Graph typed = standing_alone(graph, *body);
      if (const Status types = infer_types(typed); !types.ok())
        typed = standing_alone(graph, *body);
      below.text = path.text + label(graph, node) + " " + key + ": ";
      OCTET_TRY(look(typed, below, {}));
      ++below.steps.back().body;
    }
    return ok_status();
  }

  const TargetDef& target_;
  std::span<const Disagreement> declared_;
  std::vector<const TargetRule*> rules_;
  std::vector<PlacedFinding> findings_;
};

using Layers = std::vector<LayerForm>;

bool is_error(const PlacedFinding& found) {
  return found.finding.severity == Severity::kError;
}

/// Layers that the target refuses say so, with the rule instead of what would run.
void mark_refused(const Graph& graph, const std::vector<PlacedFinding>& findings, Layers& layers) {
  if (std::none_of(findings.begin(), findings.end(), is_error)) return;
  const Uses uses(graph);
  std::map<NodeId, const Finding*> refused;
  for (const PlacedFinding& found : findings)
    if (is_error(found) && found.finding.id.valid())
      for (const NodeId id : layers_around(graph, uses, found.finding.id))
        refused.emplace(id, &found.finding);
  for (LayerForm& layer : layers) {
    const auto found = refused.find(layer.id);
    if (found == refused.end()) continue;
    layer.precision = LayerPrecision::kRefused;
    layer.why = refusal_text(*found->second);
    layer.mend = found->second->fix;
    layer.wants_codes.clear();
    layer.source = found->second->source;
    layer.fusion.clear();
  }
}

/// What several nodes became has the name of one of them.
void weigh(const Graph& graph, Layers& layers) {
  std::map<std::string, NodeId> nodes;
  for (const NodeId id : graph.nodes())
    nodes.emplace(name_of(graph, graph.node(id)), id);
  for (LayerForm& layer : layers) {
    const auto named = nodes.find(layer.node);
    if (!layer.id.valid() && named == nodes.end()) continue;
    const Node& node = graph.node(layer.id.valid() ? layer.id : named->second);
    layer.work = multiply_adds(graph, node);
    if (layer.precision == LayerPrecision::kInt8)
      layer.float_work = float_multiply_adds(graph, node);
  }
}

} // namespace

std::vector<NodeId> layers_around(const Graph& graph, const Uses& uses, NodeId id) {
  std::vector<NodeId> out, open = {id};
  for (size_t i = 0; i < open.size(); ++i) {
    const Node& node = graph.node(open[i]);
    if (!is_qdq(node)) {
      out.push_back(node.id);
      continue;
    }
    for (const Uses::Use& use : uses.of(node.output(0)))
      if (std::find(open.begin(), open.end(), use.node) == open.end()) open.push_back(use.node);
  }
  const Node* before = out.empty() ? graph.producer(graph.node(id).input(0)) : nullptr;
  if (before != nullptr && !is_qdq(*before)) out.push_back(before->id);
  return out;
}

std::string refusal_text(const Finding& finding) {
  return finding.rule + " (" + finding.node + "): " + finding.message;
}

Result<std::vector<PlacedFinding>> check_places(const Graph& graph, std::string_view target) {
  const auto def = OCTET_TRY_WITH(find_target(target), "check");
  Graph typed = graph;
  Status types = infer_types(typed);
  // Types that do not fit together may be what the target refuses: a scale of integers.
  const std::vector<Disagreement> declared = disagreements(graph);
  std::vector<PlacedFinding> findings =
      OCTET_TRY_WITH(Checker(*def, declared).check(typed), "check");
  if (!types.ok() && std::none_of(findings.begin(), findings.end(), is_error)) {
    Finding invalid;
    invalid.rule = "invalid-types";
    invalid.node = graph.name;
    invalid.message = "no valid ONNX: " + types.error().text();
    invalid.fix = "mend the file, or try octet repair: it knows some of these faults";
    findings.push_back({std::move(invalid), {}});
  }
  return findings;
}

Result<std::vector<Finding>> check(const Graph& graph, std::string_view target) {
  std::vector<Finding> out;
  for (PlacedFinding& found : OCTET_TRY(check_places(graph, target)))
    out.push_back(std::move(found.finding));
  return out;
}

bool accepted(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.severity == Severity::kError; });
}

Result<std::vector<LayerForm>> explain(const Graph& graph, std::string_view target) {
  const auto def = OCTET_TRY_WITH(find_target(target), "explain");
  Graph typed = graph;
  OCTET_TRY_WITH(infer_types(typed), "explain");
  std::vector<LayerForm> layers = OCTET_TRY(layers_of(typed, *def));
  mark_refused(typed, OCTET_TRY_WITH(Checker(*def, disagreements(graph)).check(typed), "explain"),
               layers);
  weigh(typed, layers);
  return layers;
}

} // namespace octet
