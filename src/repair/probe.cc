// SPDX-License-Identifier: Apache-2.0
#include "repair/probe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/qdq/emit.h"

#include "octet/executor.h"

namespace octet {

Graph probe_graph(const qdq::Grid& grid, const Bounds& bounds, double shift) {
  Graph graph;
  graph.name = "probe";
  graph.opsets[""] = 21;
  TypeInfo type;
  type.type = grid.real();
  const ValueId x = graph.add_input("x", type);
  Patch patch(graph, "", Exactness::kExact);
  ValueId before = emit_clip(patch, graph, x, bounds, grid.real(), "clip");
  if (shift != 0) before = emit_shift(patch, before, -shift, grid.real(), "before");
  const ValueId codes = qdq::emit_quantize(patch, grid, before, "q");
  const ValueId behind = qdq::emit_dequantize(patch, grid, codes, shift == 0 ? "y" : "dq");
  if (shift != 0) emit_shift(patch, behind, shift, grid.real(), "y");
  if (patch.apply(graph).ok())
    if (const auto y = graph.find_value("y")) graph.mark_output(*y);
  return graph;
}

Graph identity_probe(DType type) {
  Graph graph;
  graph.name = "probe";
  graph.opsets[""] = 21;
  TypeInfo info;
  info.type = type;
  graph.mark_output(graph.emit("Identity", {graph.add_input("x", info)}));
  return graph;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (int64_t i = 0; i < a.count() && i < b.count(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double d = std::abs(x - y);
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
  }
  return worst;
}

std::optional<double> probe_difference(const Graph& before, const Graph& after, const Tensor& x) {
  const auto was = make_reference_executor(before), is = make_reference_executor(after);
  if (!was.ok() || !is.ok()) return std::nullopt;
  const auto a = (*was)->run(std::vector<Tensor>{x}), b = (*is)->run(std::vector<Tensor>{x});
  if (!a.ok() || !b.ok()) return std::nullopt;
  for (const Tensor& t : {a->front(), b->front()})
    for (int64_t i = 0; i < t.count(); ++i)
      if (!std::isfinite(t.at(i))) return std::nullopt;
  return largest_difference(a->front(), b->front());
}

} // namespace octet
