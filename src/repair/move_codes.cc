// SPDX-License-Identifier: Apache-2.0
//   codes ─▶ Transpose, MaxPool, ... ─▶ DQ   =>   codes ─▶ DQ ─▶ Transpose, MaxPool, ...
// Only for codes that TensorRT does not take (uint8, a zero point): Q and DQ become neighbours, and
// another repair makes them symmetric. Concat alike, where all its inputs are codes.
// Exact: what moves values, and the largest of a window, commute with DQ.
// Source: docs/targets.md 1.3 (uint8 between nodes), 2.1 rule 8.
#include <algorithm>

#include "graph/label.h"
#include "ops/op.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> move_codes(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const bool concat = node.is("Concat");
  if (!concat && !moves_values(node)) return std::nullopt;
  const auto uses = context.uses.of(node.output(0));
  if (uses.empty() || !is_dequantize(graph.node(uses.front().node))) return std::nullopt;
  const auto read = qdq::grid_of(graph, graph.node(uses.front().node));
  if (!read || !read->per_tensor() || read->is_symmetric() || !read->code_range())
    return std::nullopt;
  const qdq::Grid grid = read->as_scalar();
  const auto readers =
      qdq::dequantizers(graph, context.uses.of(node.output(0)), node.output(0), grid);
  if (!readers) return std::nullopt;
  Patch patch(graph, node.op_type + " works on values instead of codes", Exactness::kExact);
  patch.from(node);
  std::vector<ValueId> inputs = node.inputs;
  for (size_t i = 0; i < (concat ? inputs.size() : 1); ++i)
    inputs[i] = qdq::emit_dequantize(patch, grid, inputs[i],
                                     name_of(graph, node) + "_dequantized_" + std::to_string(i));
  const ValueId moved = patch.emit(node.op_type, std::move(inputs), node.attributes, node.name);
  for (const Node* reader : *readers) {
    patch.from(*reader);
    if (graph.is_output(reader->output(0)) && reader != readers->front()) return std::nullopt;
    patch.replace(reader->output(0), moved);
  }
  return Repair::exact(std::move(patch));
}

} // namespace octet
