// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q(i8) ─▶ DQ ─┬▶ a      =>   x ─┬▶ Q ─▶ DQ ─▶ a
//                     └▶ b               └▶ Q ─▶ DQ ─▶ b
// ONNX Runtime on x64 keeps the products behind a shared int8 Q in float. Exact.
// Source: docs/targets.md 6 (E8), 8.
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> split_quantize(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_quantize(node) || graph.constant(node.input(0)) != nullptr) return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid || grid->codes != DType::kInt8) return std::nullopt;
  const auto readers =
      qdq::dequantizers(graph, context.uses.of(node.output(0)), node.output(0), *grid);
  if (!readers) return std::nullopt;
  Patch patch(graph, "each reader gets a Q and a DQ of its own", Exactness::kExact);
  patch.from(node);
  bool first = true;
  for (const Node* reader : *readers)
    for (const Uses::Use& use : context.uses.of(reader->output(0))) {
      const Node& consumer = graph.node(use.node);
      if (use.input >= consumer.inputs.size()) return std::nullopt; // read by a subgraph
      if (!first) {
        const std::string name = name_of(graph, *reader) + "_for_" + name_of(graph, consumer);
        const ValueId codes = qdq::emit_quantize(patch, *grid, node.input(0), name + "_quantize");
        patch.set_input(consumer.id, use.input, qdq::emit_dequantize(patch, *grid, codes, name));
      }
      first = false;
    }
  const int readings = [&] {
    int n = 0;
    for (const Node* reader : *readers)
      n += static_cast<int>(context.uses.of(reader->output(0)).size());
    return n;
  }();
  if (readings < 2) return std::nullopt;
  return Repair::exact(std::move(patch));
}

} // namespace octet
