// SPDX-License-Identifier: Apache-2.0
//   ids: i64[N, S] ─▶ Gather(table) ─▶ Add(words)    =>    constant [1, 1] ─▶ Gather ─▶ Add(words)
//   ids: i64[N, S] ─▶ other                          =>    Expand(constant, Shape(words)) ─▶ other
// Changes the meaning as asked for: the input is the number from now on.
#include <algorithm>
#include <set>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "passes/simplify/only_broadcast.h"

#include "octet/passes.h"

namespace octet {
namespace {

Result<Tensor> filled(DType type, const Shape& shape, double value) {
  const int64_t count = OCTET_TRY(element_count(shape));
  Tensor out = OCTET_TRY(
      Tensor::from_doubles(type, shape, std::vector<double>(static_cast<size_t>(count), value)));
  if (count > 0 && out.at(0) != value)
    return error("{} is no number of type {}; give one that is", value, octet::name(type));
  return out;
}

/// Another input with the same open sizes.
std::optional<ValueId> like(const Graph& graph, ValueId input) {
  for (const ValueId other : graph.inputs())
    if (other != input && same_shape(graph.value(other).type, graph.value(input).type))
      return other;
  return std::nullopt;
}

Result<ValueId> find_input(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs()) {
    names.push_back(graph.value(id).name);
    if (names.back() == name) return id;
  }
  return error("has no input \"{}\"{}", name, suggestion(name, names));
}

std::string number_text(double value) {
  return value == 0 ? "zeros" : value == 1 ? "ones" : fmt::format("{} throughout", value);
}

/// Elements of input 0 are what comes out.
bool passes_elements(const Node& node) {
  return moves_values(node) || motion_of(node).kind == Motion::Kind::kCast;
}

/// An error where the number is an index beyond what a Gather, also behind such nodes, takes from.
Status check_indices(const Graph& graph, const LiveUses& uses, ValueId input, double value) {
  std::vector<ValueId> open = {input};
  std::set<ValueId> seen = {input};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    for (const Uses::Use& use : uses.of(at)) {
      const Node& node = graph.node(use.node);
      if (passes_elements(node) && use.input == 0 && seen.insert(node.output(0)).second)
        open.push_back(node.output(0));
      if (!node.is("Gather") || use.input != 1) continue;
      const TypeInfo& table = graph.value(node.input(0)).type;
      const int64_t axis = node.attr_int("axis", 0);
      if (!table.has_rank() || axis >= table.rank() || axis < -table.rank()) continue;
      const auto rows =
          (*table.shape)[static_cast<size_t>(axis < 0 ? axis + table.rank() : axis)].maybe_value();
      if (rows && (value >= static_cast<double>(*rows) || value < -static_cast<double>(*rows)))
        return error("input \"{}\" as {}: an index of {}, which takes from {} rows; give one of "
                     "0 to {}",
                     graph.value(input).name, value, label(graph, node), *rows, *rows - 1);
    }
  }
  return ok_status();
}

} // namespace

Result<std::string> drop_input(Graph& graph, const std::string& name, double value) {
  OCTET_TRY(infer_types(graph));
  const ValueId input = OCTET_TRY(find_input(graph, name));
  const TypeInfo type = graph.value(input).type;
  if (type.type == DType::kUndefined || !type.has_rank())
    return error("input \"{}\" has no shape; it can be dropped once it has one", name);
  Shape narrow;
  for (const Dim& d : *type.shape)
    narrow.push_back(d.maybe_value().value_or(1));
  std::vector<ValueId> inputs = graph.inputs();
  std::erase(inputs, input);
  const std::string taken =
      fmt::format("input \"{}\" ({}) is {}", name, type.text(), number_text(value));
  const std::optional<ValueId> other = like(graph, input);
  LiveUses uses(graph);
  OCTET_TRY(check_indices(graph, uses, input, value));
  const Tensor constant = OCTET_TRY(filled(type.type, narrow, value));
  if (other) {
    // Whoever asks for its shape only may ask the other input.
    const std::vector<Uses::Use> all(uses.of(input).begin(), uses.of(input).end());
    for (const Uses::Use& use : all)
      if (graph.node(use.node).is("Shape") || graph.node(use.node).is("Size"))
        graph.set_node_input(use.node, use.input, *other);
    uses = LiveUses(graph);
  }
  if (type.static_shape() || only_broadcast(graph, uses, input)) {
    graph.set_constant(input, constant);
    return taken + ": a constant " + graph.value(input).type.text();
  }
  if (!other)
    return error("input \"{}\" ({}) has open sizes that no other input has; give it a fixed shape",
                 name, type.text());
  graph.set_inputs(inputs);
  graph.rename(input, name + "/dropped");
  const ValueId shape = graph.emit("Shape", {*other}, {}, name + "/shape");
  const ValueId one = graph.add_constant(name + "/value", constant);
  const ValueId wide = graph.emit("Expand", {one, shape}, {}, name + "/expand");
  graph.replace_uses(input, wide);
  graph.remove_value(input);
  return taken +
         fmt::format(": a constant expanded to the shape of \"{}\"", graph.value(*other).name);
}

} // namespace octet
