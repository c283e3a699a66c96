// SPDX-License-Identifier: Apache-2.0
#include "view/page.h"

#include <cmath>

#include "core/format.h"
#include "core/hash.h"
#include "core/json.h"
#include "report/html.h"
#include "view/page_parts.h"

namespace octet::view {
namespace {

using Json = nlohmann::ordered_json;

int64_t rounded(float number) {
  return std::lround(number);
}

Json layout_json(const Layout& layout) {
  Json places = Json::array(), routes = Json::array();
  for (const auto& [x, y] : layout.centres) {
    places.push_back(rounded(x));
    places.push_back(rounded(y));
  }
  for (const Route& route : layout.routes) {
    Json points = Json::array();
    for (const float number : route.points)
      points.push_back(rounded(number));
    routes.push_back(std::move(points));
  }
  return {{"w", std::lround(layout.width)},
          {"h", std::lround(layout.height)},
          {"at", std::move(places)},
          {"routes", std::move(routes)}};
}

Json group_json(const Group& group, const Drawing& drawing) {
  Json wires = Json::array();
  for (const Wire& wire : drawing.wires) {
    Json one = {wire.from, wire.to, wire.count};
    for (const int32_t value : wire.values)
      one.push_back(value);
    wires.push_back(std::move(one));
  }
  Json out = {{"name", group.name},        {"parent", group.parent},   {"members", group.members},
              {"nodes", group.nodes},      {"in", drawing.in},         {"out", drawing.out},
              {"wires", std::move(wires)}, {"layout", drawing.layout}, {"alike", drawing.alike}};
  if (group.node >= 0) out["node"] = group.node;
  return out;
}

Json node_json(const PictureNode& node, int32_t parent, const std::vector<Scope>& scopes) {
  if (!node.drawn) return nullptr;
  Json out = {{"name", node.name}, {"op", node.op}, {"parent", parent}};
  if (node.scope >= 0) out["within"] = scopes[static_cast<size_t>(node.scope)].node;
  out["inputs"] = node.inputs;
  out["outputs"] = node.outputs;
  for (const auto& [key, fact] : node.facts.items())
    out[key] = fact;
  return out;
}

Json picture_json(const Picture& picture, const Drawings& drawings) {
  Json out = {{"title", picture.title}, {"targets", picture.targets}};
  if (picture.is_engine) out["engine"] = true;
  if (!picture.findings.empty()) out["findings"] = picture.findings;
  out["nodes"] = Json::array();
  for (size_t i = 0; i < picture.nodes.size(); ++i)
    out["nodes"].push_back(node_json(picture.nodes[i], drawings.groups.parent[i], picture.scopes));
  out["values"] = Json::array();
  for (const PictureValue& value : picture.values) {
    Json one = {{"name", value.name}};
    for (const auto& [key, fact] : value.facts.items())
      one[key] = fact;
    out["values"].push_back(std::move(one));
  }
  out["groups"] = Json::array();
  for (size_t g = 0; g < drawings.drawings.size(); ++g)
    out["groups"].push_back(group_json(drawings.groups.groups[g], drawings.drawings[g]));
  out["layouts"] = Json::array();
  for (const Layout& layout : drawings.layouts)
    out["layouts"].push_back(layout_json(layout));
  return out;
}

/// JSON that may stand in a script element: no bracket begins a tag, and no end of a line is one to
/// HTML alone.
std::string embedded(const Json& json) {
  std::string out;
  for (const char c : json_text(json, -1))
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

} // namespace

Result<WrittenPage> write_page(const Page& page) {
  Json all = {{"data", page.data}, {"links", page.links}};
  all["sizes"] = {kBoxWidth, kBoxHeight, kPortWidth, kPortHeight};
  all["pictures"] = Json::array();
  WrittenPage out;
  std::string title;
  for (const Picture& picture : page.pictures) {
    std::vector<NamedNode> nodes;
    for (const PictureNode& node : picture.nodes)
      nodes.push_back({node.path, node.op, node.drawn, node.scope});
    const Drawings drawings = OCTET_TRY(draw(nodes, picture.scopes, picture.edges));
    all["pictures"].push_back(picture_json(picture, drawings));
    out.boxes.push_back(static_cast<size_t>(drawings.groups.groups.front().nodes));
    out.groups.push_back(drawings.drawings.size());
    out.layouts.push_back(drawings.layouts.size());
    title += (title.empty() ? "" : " beside ") + picture.title;
  }
  const std::string data = embedded(all);
  // No name in the model can know the number that lets a script run.
  const std::string nonce = hash_text(hash_bytes(data));
  out.html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'nonce-{0}'; style-src 'nonce-{0}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{1}</title>\n<style nonce=\"{0}\">{2}</style></head>\n<body>\n"
      "<noscript>This picture is drawn by a script of this file; let it run.</noscript>\n"
      "<script type=\"application/json\" id=\"data\">",
      nonce, html_escape("octet view: " + title), page_style());
  out.html += data;
  out.html += fmt::format("</script>\n<script nonce=\"{}\">'use strict';\n(() => {{\n", nonce);
  out.html += page_script();
  out.html += "})();\n</script>\n</body></html>\n";
  return out;
}

} // namespace octet::view
