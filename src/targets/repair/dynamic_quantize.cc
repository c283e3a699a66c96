// SPDX-License-Identifier: Apache-2.0
//   x ─▶ DynamicQuantizeLinear ─▶ codes, scale, zero point
//   =>   x ─▶ Q ─▶ codes; scale = largest magnitude / 127, zero point 128
// Not exact: the range is the data's instead of each tensor's own. Without data there is none, and
// the node stays. Source: docs/targets.md 1.3, 6.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "targets/repair/dynamic.h"
#include "targets/repair/rules.h"

namespace octet {

Coding static_coding(const Range& seen) {
  const double s = as_float(std::max(std::abs(seen.lo), std::abs(seen.hi)) / 127);
  Coding out = int8_coding(is_usable_scale(s) ? s : 1, DType::kFloat32);
  out.codes = DType::kUint8;
  out.zeros = {128};
  return out;
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
  const Coding coding = static_coding(*seen);
  Patch patch(graph,
              fmt::format("a fixed scale {:.6g} from the data, [{:.4g}, {:.4g}]", coding.scales[0],
                          seen->lo, seen->hi),
              Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  patch.replace(node.output(0), emit_quantize(patch, coding, node.input(0), name));
  if (node.output(1).valid())
    patch.replace(node.output(1),
                  patch.constant(graph.value(node.output(1)).name, scale_tensor(coding)));
  if (node.output(2).valid())
    patch.replace(node.output(2),
                  patch.constant(graph.value(node.output(2)).name, zero_tensor(coding)));
  Repair repair{std::move(patch), std::nullopt};
  repair.probe = Probe{graph.value(node.input(0)).name, dynamic_probe(), probe_graph(coding)};
  return repair;
}

} // namespace octet
