// SPDX-License-Identifier: Apache-2.0
#include "report/graph_view.h"

#include <algorithm>
#include <map>

#include "core/format.h"
#include "ops/infer.h"
#include "ops/qdq/quant_layout.h"
#include "targets/multiply_adds.h"

namespace octet {

namespace {

std::string kind_of(const Graph& graph, const Value& value) {
  if (value.kind == ValueKind::kInput) return "input";
  if (graph.constant(value.id) != nullptr) return "constant";
  return graph.is_output(value.id) ? "output" : "node";
}

/// What codes of this type, scale and zero point can stand for.
void add_range(const Graph& graph, const Node& node, GraphView::Value& out) {
  const Tensor* scale = qdq::written(graph, node).scales;
  const Tensor* zero = qdq::written(graph, node).zeros;
  const ValueId codes = is_quantize(node) ? node.output(0) : node.input(0);
  const DType type = graph.value(codes).type.type;
  const std::optional<CodeRange> codes_range = code_range(type);
  if (scale == nullptr || scale->count() == 0 || !codes_range) return;
  double low = 0, high = 0, smallest = scale->at(0), largest = scale->at(0);
  for (int64_t i = 0; i < scale->count(); ++i) {
    const double s = scale->at(i);
    const double z = zero != nullptr && zero->count() > 0 ? zero->at(i % zero->count()) : 0;
    low = std::min(low, (codes_range->lo - z) * s);
    high = std::max(high, (codes_range->hi - z) * s);
    smallest = std::min(smallest, s);
    largest = std::max(largest, s);
  }
  out.range = {low, high};
  out.scales = {smallest, largest};
}

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> out;
  out.reserve(ids.size());
  for (const ValueId id : ids)
    out.push_back(id.valid() ? graph.value(id).name : "");
  return out;
}

int64_t constant_bytes(const Graph& graph, const Node& node) {
  int64_t out = 0;
  for (const ValueId id : node.inputs)
    if (id.valid() && graph.value(id).is_constant())
      out += static_cast<int64_t>(graph.value(id).constant.bytes().size());
  return out;
}

GraphView::Node view_node(const Graph& graph, const Node& node) {
  GraphView::Node out;
  out.name = name_of(graph, node);
  out.op = node.op_type;
  out.domain = node.domain;
  out.inputs = names(graph, node.inputs);
  out.outputs = names(graph, node.outputs);
  out.bytes = constant_bytes(graph, node);
  out.work = multiply_adds(graph, node);
  return out;
}

/// `order`: the nodes of the graph in the order of the view's.
Status add_target(const Graph& graph,
                  std::string_view target,
                  const std::vector<NodeId>& order,
                  GraphView& view) {
  view.target = target;
  std::map<NodeId, GraphView::Node*> nodes;
  for (size_t i = 0; i < order.size(); ++i)
    nodes.emplace(order[i], &view.nodes[i]);
  for (LayerForm& layer : OCTET_TRY(explain(graph, target)))
    if (const auto node = nodes.find(layer.id); node != nodes.end())
      node->second->layer = std::move(layer);
  for (PlacedFinding& found : OCTET_TRY(check_places(graph, target)))
    if (const auto node = nodes.find(found.finding.id); node != nodes.end())
      node->second->findings.push_back(std::move(found.finding));
    else
      view.elsewhere.push_back(std::move(found));
  return ok_status();
}

/// Text inside double quotes of DOT.
std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c != '\n') out += c;
  }
  return out + '"';
}

std::string_view fill_of(const std::optional<LayerForm>& layer) {
  constexpr std::string_view kPlain = "#ffffff";
  if (!layer) return kPlain;
  switch (layer->precision) {
  case LayerPrecision::kInt8:
    return "#b7e1c0";
  case LayerPrecision::kCodes:
    return "#d6eef0";
  case LayerPrecision::kFused:
    return "#e8e8e8";
  case LayerPrecision::kFloat:
    return "#fbe3c0";
  case LayerPrecision::kRefused:
    return "#f2b8b5";
  case LayerPrecision::kTyped:
  case LayerPrecision::kFp8:
  case LayerPrecision::kFp4:
    break;
  }
  return kPlain;
}

std::string bytes_of(int64_t bytes) {
  if (bytes >= 1000000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  if (bytes >= 1000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{} bytes", bytes);
}

std::string dot_node(const GraphView::Node& node, size_t index) {
  const bool point = node.op == "QuantizeLinear" || node.op == "DequantizeLinear";
  // In DOT "\n" within a label is a line break; dot_text() takes real ones out.
  std::string label = dot_text(point ? (node.op[0] == 'Q' ? "Q" : "DQ") : node.op);
  label.pop_back();
  if (!point) {
    const std::string name = dot_text(node.name);
    label += "\\n" + name.substr(1, name.size() - 2);
    if (node.layer && node.layer->form != node.op) {
      const std::string form = dot_text(node.layer->form);
      label += "\\n" + form.substr(1, form.size() - 2);
    }
    if (node.bytes > 0) label += "\\n" + bytes_of(node.bytes);
  }
  const std::string tip = !node.findings.empty() ? node.findings.front().message
                          : node.layer           ? node.layer->why
                                                 : "";
  return fmt::format("  n{} [label={}\", shape={}, fillcolor=\"{}\", color=\"{}\", tooltip={}];\n",
                     index, label, point ? "circle" : "box", fill_of(node.layer),
                     node.findings.empty() ? "#808080" : "#c00000", dot_text(tip));
}

} // namespace

Result<GraphView> view_graph(const Graph& graph, std::string_view target) {
  Graph typed = graph;
  OCTET_TRY_WITH(infer_types(typed), "view");
  GraphView out;
  out.name = typed.name;
  std::vector<size_t> place(static_cast<size_t>(typed.value_bound()), SIZE_MAX);
  for (int32_t i = 0; i < typed.value_bound(); ++i) {
    const Value& value = typed.value(ValueId{i});
    const bool is_hole = value.kind == ValueKind::kNodeOutput && !value.producer.valid();
    if (is_hole && value.name.empty()) continue;
    place[static_cast<size_t>(i)] = out.values.size();
    GraphView::Value view{value.name, kind_of(typed, value), value.type.text(), 0, {}, {}};
    if (value.is_constant()) view.bytes = static_cast<int64_t>(value.constant.bytes().size());
    out.values.push_back(std::move(view));
  }
  const std::vector<NodeId> order = OCTET_TRY_WITH(typed.topological(), "view");
  for (const NodeId id : order) {
    const Node& node = typed.node(id);
    out.nodes.push_back(view_node(typed, node));
    if (is_qdq(node) && node.output(0).valid())
      for (const ValueId v : {node.input(0), node.output(0)})
        add_range(typed, node, out.values[place[static_cast<size_t>(v.index)]]);
  }
  if (!target.empty()) OCTET_TRY_WITH(add_target(graph, target, order, out), "view");
  return out;
}

std::string view_dot(const GraphView& view) {
  std::string out = "digraph " + dot_text(view.name) +
                    " {\n  node [style=filled, fontname=\"Helvetica\", fontsize=10];\n"
                    "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#808080\"];\n";
  std::map<std::string, std::string> source; // value -> the node of the drawing that makes it
  std::map<std::string, const GraphView::Value*> values;
  for (const GraphView::Value& value : view.values)
    values[value.name] = &value;
  for (size_t i = 0; i < view.values.size(); ++i)
    if (view.values[i].kind == "input") {
      source[view.values[i].name] = fmt::format("i{}", i);
      out += fmt::format("  i{} [label={}, shape=ellipse, fillcolor=\"#ffffff\"];\n", i,
                         dot_text(view.values[i].name));
    }
  for (size_t i = 0; i < view.nodes.size(); ++i) {
    out += dot_node(view.nodes[i], i);
    for (const std::string& name : view.nodes[i].outputs)
      if (!name.empty()) source[name] = fmt::format("n{}", i);
  }
  const auto edge = [&](const std::string& value, const std::string& to) {
    const auto from = source.find(value);
    if (value.empty() || from == source.end()) return; // constants are drawn as sizes
    out += fmt::format("  {} -> {} [label={}];\n", from->second, to, dot_text(values[value]->type));
  };
  for (size_t i = 0; i < view.nodes.size(); ++i)
    for (const std::string& name : view.nodes[i].inputs)
      edge(name, fmt::format("n{}", i));
  for (size_t i = 0; i < view.values.size(); ++i)
    if (view.values[i].kind == "output") {
      out += fmt::format("  o{} [label={}, shape=ellipse, fillcolor=\"#ffffff\"];\n", i,
                         dot_text(view.values[i].name));
      edge(view.values[i].name, fmt::format("o{}", i));
    }
  return out + "}\n";
}

} // namespace octet
