// SPDX-License-Identifier: Apache-2.0
//   com.microsoft.QLinearAveragePool, QLinearGlobalAveragePool
//   =>   DQ [─▶ Transpose] ─▶ AveragePool, GlobalAveragePool [─▶ Transpose] ─▶ Q
// Transposes where the channels come last. The average is rounded to float before Q: a tie may take
// the other code, one step. Source: docs/targets.md 1.3, 4.1.
#include "passes/standardize/coded_operators.h"

namespace octet {

namespace {

ValueId transpose(Patch& patch, ValueId x, std::vector<int64_t> perm, const std::string& name) {
  Attributes attributes;
  attributes["perm"].value = std::move(perm);
  return patch.emit("Transpose", {x}, std::move(attributes), name);
}

} // namespace

std::optional<Patch> decompose_qlinear_pool(const Graph& graph, const Node& node) {
  const bool global = node.is("QLinearGlobalAveragePool", kMicrosoft);
  if (!global && !node.is("QLinearAveragePool", kMicrosoft)) return std::nullopt;
  const TypeInfo& type = graph.value(node.input(0)).type;
  const bool last = node.attr_int("channels_last", 0) != 0;
  if (last && (!type.has_rank() || type.rank() < 3)) return std::nullopt;
  const std::string name = name_of(graph, node);
  Patch patch(graph, node.op_type + " becomes the float operator between DQ and Q",
              Exactness::kRounding);
  patch.from(node);
  auto x = qdq::emit_operand(patch, graph, qdq::operand_at(node, 0), 1, name + "_x");
  if (!x) return std::nullopt;
  std::vector<int64_t> to_first = {0}, to_last = {0};
  if (last) {
    to_first.push_back(type.rank() - 1);
    for (int64_t i = 1; i + 1 < type.rank(); ++i)
      to_first.push_back(i);
    for (int64_t i = 2; i < type.rank(); ++i)
      to_last.push_back(i);
    to_last.push_back(1);
    x = transpose(patch, *x, to_first, name + "_first");
  }
  Attributes attributes = node.attributes;
  attributes.erase("channels_last");
  ValueId y =
      patch.emit(global ? "GlobalAveragePool" : "AveragePool", {*x}, std::move(attributes), name);
  if (last) y = transpose(patch, y, to_last, name + "_last");
  qdq::replace_by_codes(patch, node, y, node.input(3), node.input(4), name);
  return patch;
}

} // namespace octet
