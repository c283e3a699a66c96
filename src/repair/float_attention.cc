// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ DQ ─▶ MatMul, Softmax   =>   x ─▶ MatMul, Softmax
// Inside an attention, where --attention float asks, or where it asks for int8 and no int8 kernel
// takes the head size or the length; and between the first product and the softmax in either case,
// where no kernel has Q and DQ. Not exact: what Q rounded and cut off stays. Source:
// docs/targets.md 2.4.
#include <algorithm>

#include "core/format.h"
#include "repair/attention_places.h"
#include "repair/probe.h"
#include "repair/rules.h"

namespace octet {

namespace {

std::optional<Repair>
take_out(const RepairContext& context, const Node& reader, size_t input, const char* where) {
  const auto codes = coded_operand(context.graph, reader.input(input));
  if (!codes) return std::nullopt;
  Patch patch(context.graph, fmt::format("no Q/DQ {}", where), Exactness::kInexact);
  const ValueId x = codes->quantize->input(0);
  patch.from(*codes->dequantize).set_input(reader.id, input, x);
  Repair repair{std::move(patch), std::nullopt};
  repair.probe = Probe{context.graph.value(x).name, probe_graph(codes->grid),
                       identity_probe(codes->grid.real())};
  return repair;
}

std::optional<Repair> scores_without(const RepairContext& context, const Attention& attention) {
  const Graph& graph = context.graph;
  std::vector<NodeId> readers = attention.between;
  readers.push_back(attention.softmax);
  for (const NodeId id : readers) {
    const Node& reader = graph.node(id);
    for (size_t i = 0; i < reader.inputs.size(); ++i)
      if (std::find(attention.score_codes.begin(), attention.score_codes.end(), reader.input(i)) !=
          attention.score_codes.end())
        if (auto repair = take_out(context, reader, i, "between the first product and the softmax"))
          return repair;
  }
  return std::nullopt;
}

} // namespace

std::optional<Repair> float_attention(const RepairContext& context, const Node& node) {
  if (context.attention == AttentionForm::kKeep) return std::nullopt;
  const auto attention = attention_around(context, node);
  if (!attention) return std::nullopt;
  if (auto repair = scores_without(context, *attention)) return repair;
  if (context.attention == AttentionForm::kInt8 && int8_kernel_takes(*attention))
    return std::nullopt;
  const Node& scores = context.graph.node(attention->scores);
  const Node& mixed = context.graph.node(attention->context);
  if (auto r = take_out(context, scores, 0, "before the first product, on Q")) return r;
  if (auto r = take_out(context, scores, 1, "before the first product, on K")) return r;
  if (auto r = take_out(context, mixed, 0, "behind the softmax")) return r;
  return take_out(context, mixed, 1, "before the second product, on V");
}

} // namespace octet
