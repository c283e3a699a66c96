// SPDX-License-Identifier: Apache-2.0
//   x ─▶ DynamicQuantizeLinear ─▶ codes, scale, zero point
//   =>   x ─▶ Q ─▶ codes; scale and zero point of all that the data shows
// Not exact: the range is the data's instead of each tensor's own. Without data there is none, and
// the node stays. Source: docs/targets.md 1.3, 6.
#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "quant/scheme.h"
#include "repair/dynamic.h"
#include "repair/probe.h"
#include "repair/rules.h"

namespace octet {

Scheme dynamic_scheme(ZeroPointForm zero_points) {
  return {.type = DType::kUint8, .symmetric = zero_points == ZeroPointForm::kWiden};
}

qdq::Grid static_grid(ZeroPointForm zero_points, const Range& seen) {
  const QuantParameters parameters = parameters_for(dynamic_scheme(zero_points), seen);
  return qdq::Grid::per_tensor_of(DType::kUint8, static_cast<double>(parameters.scale),
                                  static_cast<double>(parameters.zero_point), DType::kFloat32);
}

Graph dynamic_probe() {
  Graph graph;
  graph.name = "probe";
  graph.opsets[""] = 21;
  TypeInfo type;
  type.type = DType::kFloat32;
  const ValueId x = graph.add_input("x", type);
  const ValueId codes = graph.emit("DynamicQuantizeLinear", {x}, {}, "q", "", 3);
  const std::vector<ValueId> parts = graph.node(graph.value(codes).producer).outputs;
  graph.mark_output(graph.emit("DequantizeLinear", parts));
  return graph;
}

std::optional<Repair> dynamic_quantize(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const Range* seen = node.is("DynamicQuantizeLinear") ? context.range_of(node.input(0)) : nullptr;
  if (seen == nullptr) return std::nullopt;
  for (const ValueId out : node.outputs)
    if (out.valid() && graph.is_output(out)) return std::nullopt;
  const qdq::Grid grid = static_grid(context.zero_points, *seen);
  Patch patch(graph,
              fmt::format("a fixed scale {:.6g} from the data, [{:.4g}, {:.4g}]", grid.scale_at(0),
                          seen->lo, seen->hi),
              Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  patch.replace(node.output(0), qdq::emit_quantize(patch, grid, node.input(0), name));
  if (node.output(1).valid())
    patch.replace(node.output(1), patch.constant(graph.value(node.output(1)).name, grid.scale));
  if (node.output(2).valid())
    patch.replace(node.output(2), patch.constant(graph.value(node.output(2)).name, grid.zero));
  Repair repair{std::move(patch), std::nullopt};
  repair.probe = Probe{graph.value(node.input(0)).name, dynamic_probe(), probe_graph(grid)};
  return repair;
}

} // namespace octet
