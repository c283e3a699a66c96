// SPDX-License-Identifier: Apache-2.0
//   ids: i64[N, S] ─▶ Gather(table) ─▶ Add(words)    =>    constant [1, 1] ─▶ Gather ─▶ Add(words)
//   ids: i64[N, S] ─▶ other                          =>    Expand(constant, Shape(words)) ─▶ other
// Changes the meaning as asked for: the input is the number from now on.
#include "passes/drop_input.h"

#include "core/format.h"
#include "core/string_util.h"
#include "ops/infer.h"
#include "passes/only_broadcast.h"

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
  if (other) {
    // Whoever asks for its shape only may ask the other input.
    const std::vector<Uses::Use> all(uses.of(input).begin(), uses.of(input).end());
    for (const Uses::Use& use : all)
      if (graph.node(use.node).is("Shape") || graph.node(use.node).is("Size"))
        graph.set_node_input(use.node, use.input, *other);
    uses = LiveUses(graph);
  }
  const Tensor constant = OCTET_TRY(filled(type.type, narrow, value));
  if (type.static_shape() || only_broadcast(graph, uses, input)) {
    graph.set_inputs(inputs);
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
  graph.mutable_value(input).kind = ValueKind::kNodeOutput;
  return taken +
         fmt::format(": a constant expanded to the shape of \"{}\"", graph.value(*other).name);
}

} // namespace octet
