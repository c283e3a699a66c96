// SPDX-License-Identifier: Apache-2.0
// Source: the operators' change logs of ONNX, opsets 7 to 25.
#include "passes/standardize/raise_opset.h"

#include <algorithm>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "ops/schema_types.h"
#include "passes/standardize/raise_to_13.h"

namespace octet {
namespace {

/// The first that is read.
constexpr int64_t kFirstOpset = 7;

/// The first opset whose GridSample samples any number of axes, and names its modes by none.
constexpr int64_t kGridSampleNames = 20;

void name_sampling_mode(Node& node) {
  if (!node.is("GridSample")) return;
  const std::string mode = node.attr_string("mode", "");
  if (mode == "bilinear") node.set("mode", std::string("linear"));
  if (mode == "bicubic") node.set("mode", std::string("cubic"));
}

/// Operators of opsets before 13 that 13 has under another name.
bool is_renamed(const Node& node) {
  return node.is("Scatter") || node.is("Upsample");
}

std::string why_not(const Graph& graph, const Node& node, int64_t from, int64_t version) {
  std::string unknown =
      fmt::format("the operator is not known to mean the same in opsets {} and {}", from, version);
  if (from < kOldestOpset)
    if (std::string why = why_not_13(graph, node, from); !why.empty()) return why;
  if (!node.domain.empty() || (from < kOldestOpset && is_renamed(node))) return {};
  if (node.is("Attention") && from < 24 && version >= 24) return unknown;
  if (node.is("AveragePool") && node.attr_int("ceil_mode", 0) != 0 && version >= 19) return unknown;
  // Only the outputs for training changed (opset 14), and nobody sets those in inference.
  if (node.op_type == "BatchNormalization" && (from >= 14 || node.outputs.size() == 1)) return {};
  const bool passes = facts_of(node).unchanged || version == from || node.op_type == "Dropout" ||
                      is_reduction(node) || node.op_type == "Split" || node.is("GridSample");
  return passes ? "" : unknown;
}

Status raise(Graph& graph, int64_t from, int64_t version, const Graph& typed);

Status raise_bodies(Graph& graph, NodeId id, int64_t from, int64_t version, const Graph& outer) {
  for (const auto& [key, body] : bodies_of(graph.mutable_node(id))) {
    Graph raised = *body, typed = standing_alone(outer, *body);
    static_cast<void>(infer_types(typed, UnknownOp::kIgnore));
    OCTET_TRY_WITH(raise(raised, from, version, typed),
                   fmt::format("{} of node {}", key, label(graph, graph.node(id))));
    body = std::make_shared<const Graph>(std::move(raised));
  }
  return ok_status();
}

Status raise(Graph& graph, int64_t from, int64_t version, const Graph& typed) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::string why = why_not(graph, node, from, version);
    if (!why.empty())
      return error(ErrorCode::kUnsupported, "node {}: {}; keep opset {}", label(graph, node), why,
                   from);
  }
  for (const NodeId id : graph.nodes())
    OCTET_TRY(raise_bodies(graph, id, from, version, typed));
  for (const NodeId id : graph.nodes())
    if (from < kOldestOpset && graph.node(id).domain.empty())
      OCTET_TRY(write_for_13(graph, id, from, typed));
  if (from < 18 && version >= 18)
    for (const NodeId id : graph.nodes()) {
      Node& node = graph.mutable_node(id);
      if (is_reduction(node)) ints_to_input(graph, id, "axes", 1);
      if (node.is("Split") && !node.input(1).valid())
        node.set("num_outputs", static_cast<int64_t>(node.outputs.size()));
    }
  if (from < kGridSampleNames && version >= kGridSampleNames)
    for (const NodeId id : graph.nodes())
      name_sampling_mode(graph.mutable_node(id));
  if (graph.opsets.contains("")) graph.opsets[""] = version;
  return ok_status();
}

} // namespace

bool is_reduction(const Node& node) {
  const auto has_axes = [&](int64_t opset) {
    const OperatorTypes::Version* schema = onnx_schemas().find(node.op_type, opset);
    return schema != nullptr && std::find(schema->attributes.begin(), schema->attributes.end(),
                                          "axes") != schema->attributes.end();
  };
  return node.domain.empty() && has_axes(17) && !has_axes(18);
}

Status raise_opset(Graph& graph, int64_t version) {
  const int64_t from = graph.opset();
  if (from < kFirstOpset || version < kOldestOpset || version > kNewestOpset || version < from)
    return error(
        ErrorCode::kUnsupported,
        "opset {} cannot be written as {}; what is written lies between {} and {} and does "
        "not fall, what is read begins with {}",
        from, version, kOldestOpset, kNewestOpset, kFirstOpset);
  Graph raised = graph, typed = graph;
  if (from < kOldestOpset) OCTET_TRY(infer_types(typed, UnknownOp::kIgnore));
  OCTET_TRY(raise(raised, from, version, typed));
  raised.opsets[""] = version;
  graph = std::move(raised);
  return ok_status();
}

} // namespace octet
