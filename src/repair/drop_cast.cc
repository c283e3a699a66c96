// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ Cast ─▶ DQ   =>   x ─▶ Q ─▶ DQ, its zero point in the type of the codes
// Exact where the cast keeps every code: to the same type, or to a wider one.
// Source: docs/targets.md 9 (eager quantization of torch.ao).
#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> drop_cast(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const Node* cast = is_dequantize(node) ? graph.producer(node.input(0)) : nullptr;
  if (cast == nullptr || !cast->is("Cast")) return std::nullopt;
  const DType from = graph.value(cast->input(0)).type.type;
  const auto to = static_cast<DType>(cast->attr_int("to", 0));
  const auto narrow = code_range(from);
  const bool wide = to == DType::kInt32 || to == from ||
                    (code_range(to) && narrow && code_range(to)->lo <= narrow->lo &&
                     code_range(to)->hi >= narrow->hi);
  const qdq::Written said = qdq::written(graph, node);
  const Tensor* zero = said.zeros;
  if (!narrow || !wide || zero == nullptr) return std::nullopt;
  const auto zeros = zero->to_doubles();
  if (!zeros.ok()) return std::nullopt;
  for (const double z : *zeros)
    if (z < narrow->lo || z > narrow->hi) return std::nullopt;
  auto same = Tensor::from_doubles(from, zero->shape(), *zeros);
  if (!same.ok()) return std::nullopt;
  Patch patch(
      graph,
      fmt::format("a Cast from {} to {} keeps every code", octet::name(from), octet::name(to)),
      Exactness::kExact);
  patch.from(node).from(*cast);
  const ValueId point = patch.constant(name_of(graph, node) + "_zero_point", *same);
  patch.replace(node.output(0), patch.emit("DequantizeLinear", {cast->input(0), said.scale, point},
                                           node.attributes, node.name, node.domain));
  return Repair::exact(std::move(patch));
}

} // namespace octet
