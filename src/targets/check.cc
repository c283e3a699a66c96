// SPDX-License-Identifier: Apache-2.0
// check and explain: run the rules of the target's family over every node.
#include <algorithm>
#include <map>

#include "graph/bodies.h"
#include "ops/infer.h"
#include "targets/custom.h"
#include "targets/work.h"

namespace octet {

namespace {

std::span<CheckFn* const> checks_of(TargetFamily family) {
  switch (family) {
  case TargetFamily::kTensorRt:
    return tensorrt_checks();
  case TargetFamily::kOnnxRuntime:
    return onnxruntime_checks();
  case TargetFamily::kOctet:
    return octet_checks();
  }
  return {};
}

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

Status add_findings(const Graph& graph,
                    const TargetDef& target,
                    const std::string& path,
                    std::vector<Finding>& findings);

/// What stands in the bodies of If, Loop and Scan, each named by the path to it. A body whose types
/// do not fit is looked at with those that it declares.
Status add_findings_in_bodies(const Graph& graph,
                              const Node& node,
                              const TargetDef& target,
                              const std::string& path,
                              std::vector<Finding>& findings) {
  for (const auto& [key, body] : bodies_of(node)) {
    Graph typed = standing_alone(graph, *body);
    if (const Status types = infer_types(typed); !types.ok()) typed = standing_alone(graph, *body);
    OCTET_TRY(add_findings(typed, target, path + label(graph, node) + " " + key + ": ", findings));
  }
  return ok_status();
}

Status add_findings(const Graph& graph,
                    const TargetDef& target,
                    const std::string& path,
                    std::vector<Finding>& findings) {
  const Uses uses(graph);
  const std::vector<NodeId> nodes = graph.nodes();
  const NodeId first = path.empty() && !nodes.empty() ? nodes.front() : NodeId{};
  const CheckContext context{graph, uses, target, findings, path, first};
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    for (CheckFn* rule : checks_of(target.family))
      rule(context, graph.node(id));
    if (target.custom != nullptr) check_custom(context, *target.custom, graph.node(id));
    OCTET_TRY(add_findings_in_bodies(graph, graph.node(id), target, path, findings));
  }
  return ok_status();
}

Result<std::vector<Finding>> findings_of(const Graph& graph, const TargetDef& target) {
  std::vector<Finding> findings;
  OCTET_TRY(add_findings(graph, target, "", findings));
  return findings;
}

using Layers = std::vector<LayerForm>;

/// The layers that a refused node belongs to: itself, or what reads and makes the codes of Q or DQ.
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

/// Layers that the target refuses say so, with the rule instead of what would run.
void mark_refused(const Graph& graph, const std::vector<Finding>& findings, Layers& layers) {
  if (accepted(findings)) return;
  const Uses uses(graph);
  std::multimap<std::string, NodeId> nodes;
  for (const NodeId id : graph.nodes())
    nodes.emplace(label(graph, graph.node(id)), id);
  std::map<std::string, const Finding*> refused; // by label of the layer
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kError) continue;
    const auto [begin, end] = nodes.equal_range(finding.node);
    for (auto it = begin; it != end; ++it)
      for (const NodeId id : layers_around(graph, uses, it->second))
        refused.emplace(label(graph, graph.node(id)), &finding);
  }
  for (LayerForm& layer : layers) {
    const auto found = refused.find(layer.op + " \"" + layer.node + "\"");
    if (found == refused.end()) continue;
    layer.precision = "refused";
    layer.why = found->second->rule + " (" + found->second->node + "): " + found->second->message;
    layer.mend = found->second->fix;
    layer.wants_codes.clear();
    layer.source = found->second->source;
    layer.fusion.clear();
  }
}

} // namespace

void CheckContext::add(std::string_view rule,
                       Severity severity,
                       const std::string& node,
                       std::string message,
                       std::string fix,
                       std::string_view source) const {
  Finding out;
  out.rule = rule;
  out.severity = severity;
  out.node = path + node;
  out.message = std::move(message);
  out.fix = std::move(fix);
  out.source = "targets " + std::string(source);
  findings.push_back(std::move(out));
}

std::string label(const Graph& graph, const Node& node) {
  return node.op_type + " \"" + name_of(graph, node) + "\"";
}

Result<std::vector<Finding>> check(const Graph& graph, std::string_view target) {
  const auto def = OCTET_TRY_WITH(find_target(target), "check");
  Graph typed = graph;
  Status types = infer_types(typed);
  // Types that do not fit together may be what the target refuses: a scale of integers.
  std::vector<Finding> findings = OCTET_TRY_WITH(findings_of(typed, *def), "check");
  if (!types.ok() && accepted(findings)) {
    Finding invalid;
    invalid.rule = "invalid-types";
    invalid.node = graph.name;
    invalid.message = "no valid ONNX: " + types.error().text();
    invalid.fix = "mend the file, or try octet repair: it knows some of these faults";
    findings.push_back(std::move(invalid));
  }
  return findings;
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
  std::map<std::string, int64_t> work;
  for (const NodeId id : typed.nodes())
    work.emplace(name_of(typed, typed.node(id)), multiply_adds(typed, typed.node(id)));
  for (LayerForm& layer : layers)
    if (const auto found = work.find(layer.node); found != work.end()) layer.work = found->second;
  mark_refused(typed, OCTET_TRY_WITH(findings_of(typed, *def), "explain"), layers);
  return layers;
}

} // namespace octet
