// SPDX-License-Identifier: Apache-2.0
#include "report/graph_view.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

nlohmann::ordered_json json_of(const GraphView::Node& node) {
  nlohmann::ordered_json out = {{"name", node.name}, {"op", node.op}};
  if (!node.domain.empty()) out["domain"] = node.domain;
  out["inputs"] = node.inputs;
  out["outputs"] = node.outputs;
  out["bytes"] = node.bytes;
  out["work"] = node.work;
  if (node.layer) {
    out["form"] = node.layer->form;
    out["precision"] = node.layer->precision_name();
    for (const auto& [key, text] :
         {std::pair{"fusion", &node.layer->fusion}, {"why", &node.layer->why}})
      if (!text->empty()) out[key] = *text;
  }
  for (const Finding& f : node.findings)
    out["findings"].push_back({{"rule", f.rule},
                               {"severity", f.severity == Severity::kError ? "error" : "warning"},
                               {"message", f.message},
                               {"fix", f.fix},
                               {"source", f.source}});
  return out;
}

nlohmann::ordered_json json_of(const GraphView::Value& value) {
  nlohmann::ordered_json out = {{"name", value.name}, {"kind", value.kind}, {"type", value.type}};
  if (value.kind == "constant") out["bytes"] = value.bytes;
  if (value.range) out["range"] = {value.range->first, value.range->second};
  if (value.scales) out["scales"] = {value.scales->first, value.scales->second};
  return out;
}

} // namespace

nlohmann::ordered_json graph_json(const GraphView& view) {
  nlohmann::ordered_json out = {{"name", view.name}};
  if (!view.target.empty()) out["target"] = view.target;
  out["nodes"] = nlohmann::ordered_json::array();
  for (const GraphView::Node& node : view.nodes)
    out["nodes"].push_back(json_of(node));
  out["values"] = nlohmann::ordered_json::array();
  for (const GraphView::Value& value : view.values)
    out["values"].push_back(json_of(value));
  return out;
}

} // namespace octet
