// SPDX-License-Identifier: Apache-2.0
#include "view/layout.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "core/format.h"

namespace octet::view {
namespace {

constexpr double kPointsPerInch = 72;
/// Graphviz takes minutes over more in one drawing.
constexpr size_t kMostPlacing = 1000, kMostCurved = 500;
constexpr size_t kMostRouteNumbers = 4000; ///< of one edge in the text that comes back

std::string dot_of(std::span<const Box> boxes, std::span<const std::pair<int32_t, int32_t>> edges) {
  std::string out = fmt::format("digraph g {{ graph [ranksep=0.45, nodesep=0.25, nslimit=4, "
                                "nslimit1=4, mclimit=1, splines={}];\nnode [shape=box, "
                                "fixedsize=true, label=\"\"];\nedge [arrowhead=none];\n",
                                edges.size() > kMostCurved ? "line" : "spline");
  std::string first, last;
  for (size_t i = 0; i < boxes.size(); ++i) {
    out += fmt::format("n{} [width={:.3f}, height={:.3f}];\n", i, boxes[i].width / kPointsPerInch,
                       boxes[i].height / kPointsPerInch);
    if (boxes[i].side == Box::Side::kFirst) first += fmt::format("n{}; ", i);
    if (boxes[i].side == Box::Side::kLast) last += fmt::format("n{}; ", i);
  }
  if (!first.empty()) out += "{ rank=source; " + first + "}\n";
  if (!last.empty()) out += "{ rank=sink; " + last + "}\n";
  for (const auto& [from, to] : edges)
    out += fmt::format("n{} -> n{};\n", from, to);
  return out + "}\n";
}

Error not_understood(const std::string& line) {
  return Error(fmt::format("libgvc gives a layout that is not understood, at \"{}\"; "
                           "Graphviz 2.42 to 12 are known to work",
                           line.substr(0, 60)));
}

/// What Graphviz calls its plain format: sizes in inches, y upwards.
Status read_plain(const std::string& text, size_t boxes, Layout& out) {
  std::map<std::pair<int32_t, int32_t>, Route> routes;
  std::istringstream lines(text);
  std::string line, word;
  const auto box_of = [&](const std::string& name) -> int32_t {
    if (name.size() < 2 || name.size() > 8 || name[0] != 'n') return -1;
    int32_t index = 0;
    for (const char c : name.substr(1)) {
      if (c < '0' || c > '9') return -1;
      index = index * 10 + (c - '0');
    }
    return index < static_cast<int32_t>(boxes) ? index : -1;
  };
  while (std::getline(lines, line)) {
    std::istringstream in(line);
    in >> word;
    if (word == "graph") {
      double scale = 1;
      if (!(in >> scale >> out.width >> out.height)) return not_understood(line);
      out.width *= kPointsPerInch;
      out.height *= kPointsPerInch;
    } else if (word == "node") {
      double x = 0, y = 0;
      if (!(in >> word >> x >> y) || box_of(word) < 0) return not_understood(line);
      out.centres[static_cast<size_t>(box_of(word))] = {
          static_cast<float>(x * kPointsPerInch),
          static_cast<float>(out.height - y * kPointsPerInch)};
    } else if (word == "edge") {
      std::string from, to;
      size_t count = 0;
      if (!(in >> from >> to >> count) || box_of(from) < 0 || box_of(to) < 0 ||
          count > kMostRouteNumbers)
        return not_understood(line);
      Route route{box_of(from), box_of(to), {}};
      for (size_t i = 0; i < count; ++i) {
        double x = 0, y = 0;
        if (!(in >> x >> y)) return not_understood(line);
        route.points.push_back(static_cast<float>(x * kPointsPerInch));
        route.points.push_back(static_cast<float>(out.height - y * kPointsPerInch));
      }
      routes[{route.from, route.to}] = std::move(route);
    } else if (word == "stop") {
      break;
    }
  }
  for (Route& route : out.routes) {
    const auto found = routes.find({route.from, route.to});
    if (found != routes.end() && found->second.points.size() >= 4) {
      route.points = std::move(found->second.points);
      continue;
    }
    for (const int32_t end : {route.from, route.to}) {
      const auto& [x, y] = out.centres[static_cast<size_t>(end)];
      route.points.insert(route.points.end(), {x, y});
    }
  }
  return ok_status();
}

} // namespace

Result<LayoutEngine> LayoutEngine::load() {
  static const std::string way_out =
      "install Graphviz' libgvc, which places the boxes of a picture "
      "(Debian: apt-get install --no-install-recommends libgvc6)";
  const SharedLibrary gvc = OCTET_TRY(SharedLibrary::open({"libgvc.so.7", "libgvc.so.6"}, way_out));
  const SharedLibrary cgraph = OCTET_TRY(
      SharedLibrary::open({"libcgraph.so.8", "libcgraph.so.7", "libcgraph.so.6"}, way_out));
  LayoutEngine out;
  void* (*make)() = nullptr;
  OCTET_TRY(gvc.load("gvContext", make));
  OCTET_TRY(cgraph.load("agmemread", out.read_));
  OCTET_TRY(cgraph.load("agclose", out.close_));
  OCTET_TRY(gvc.load("gvLayout", out.layout_));
  OCTET_TRY(gvc.load("gvFreeLayout", out.free_layout_));
  OCTET_TRY(gvc.load("gvRenderData", out.render_));
  OCTET_TRY(gvc.load("gvFreeRenderData", out.free_text_));
  int (*be_quiet)(int) = nullptr;
  OCTET_TRY(cgraph.load("agseterr", be_quiet));
  static void* const context = make(); // lives as long as the library
  if (context == nullptr) return Error("libgvc cannot start; reinstall it");
  constexpr int kNothing = 2; // AGMAX
  be_quiet(kNothing);
  out.context_ = context;
  return out;
}

Result<Layout> LayoutEngine::lay_out(std::span<const Box> boxes,
                                     std::span<const std::pair<int32_t, int32_t>> edges) const {
  Layout out;
  out.centres.resize(boxes.size());
  for (const auto& [from, to] : edges)
    out.routes.push_back({from, to, {}});
  if (boxes.empty()) return out;
  const std::string dot = dot_of(boxes, edges.first(std::min(edges.size(), kMostPlacing)));
  void* graph = read_(dot.c_str());
  if (graph == nullptr) return Error("libgvc does not read its own language; reinstall it");
  char* text = nullptr;
  size_t length = 0; // an unsigned int to older versions, which leave the upper half as it is
  if (layout_(context_, graph, "dot") != 0 ||
      render_(context_, graph, "plain", &text, &length) != 0 || text == nullptr) {
    close_(graph);
    return Error("libgvc lays out nothing; run libgvc6-config-update as root, or reinstall it");
  }
  const std::string plain(text);
  free_text_(text);
  free_layout_(context_, graph);
  close_(graph);
  OCTET_TRY(read_plain(plain, boxes.size(), out));
  return out;
}

} // namespace octet::view
