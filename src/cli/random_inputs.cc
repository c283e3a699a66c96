// SPDX-License-Identifier: Apache-2.0
#include "cli/random_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/format.h"
#include "core/philox.h"
#include "core/string_util.h"
#include "ops/op.h"

namespace octet::cli {
namespace {

/// Output 0 holds the integers of input 0, or bounds of a Clip in their place.
bool keeps_integers(const Node& node) {
  return moves_values(node) || motion_of(node).kind == Motion::Kind::kCast || node.is("Clip");
}

/// What an index into the first axis (or `axis`) of the node's data must stay below; 0: no index.
int64_t table_length(const Graph& graph, const Node& node, size_t input) {
  const bool gather = node.is("Gather") || node.is("GatherElements");
  const bool embed = node.is("EmbedLayerNormalization", "com.microsoft");
  size_t table = 0;
  if (embed && input < 2)
    table = input == 0 ? 2 : 4;
  else if (!gather || input != 1)
    return 0;
  const TypeInfo& type = graph.value(node.input(table)).type;
  if (!type.has_rank() || type.rank() == 0) return 0;
  int64_t axis = embed ? 0 : node.attr_int("axis", 0);
  if (axis < 0) axis += type.rank();
  if (axis < 0 || axis >= type.rank()) return 0;
  return (*type.shape)[static_cast<size_t>(axis)].maybe_value().value_or(0);
}

/// The smallest table that the input indexes, through operators that keep its integers.
int64_t index_bound(const Graph& graph, const Uses& uses, ValueId input) {
  std::vector<ValueId> work = {input};
  std::set<ValueId> seen = {input};
  int64_t bound = 0;
  while (!work.empty()) {
    const ValueId at = work.back();
    work.pop_back();
    for (const Uses::Use& use : uses.of(at)) {
      const Node& node = graph.node(use.node);
      if (const int64_t length = table_length(graph, node, use.input); length > 0)
        bound = bound == 0 ? length : std::min(bound, length);
      const bool keeps = use.input == 0 && keeps_integers(node);
      if (keeps && node.output(0).valid() && seen.insert(node.output(0)).second)
        work.push_back(node.output(0));
    }
  }
  return bound;
}

Result<Shape>
shape_of(const Value& v, const InputShapes& shapes, const std::map<std::string, int64_t>& sizes) {
  if (const auto given = shapes.find(v.name); given != shapes.end()) return given->second;
  Shape shape;
  if (!v.type.shape)
    return error("input \"{}\": the model does not say its rank; use --shape {}=1x128", v.name,
                 v.name);
  for (const Dim& d : *v.type.shape) {
    const Result<int64_t> size = d.evaluate(sizes);
    shape.push_back(size.ok() ? *size : d.maybe_value().value_or(1));
  }
  return shape;
}

} // namespace

Result<InputShapes> parse_input_shapes(const Graph& graph, const std::vector<std::string>& items) {
  InputShapes out;
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs())
    names.push_back(graph.value(id).name);
  for (const std::string& item : items) {
    const size_t equals = item.rfind('=');
    if (equals == std::string::npos) return error("--shape {}: wants NAME=1x128", item);
    const std::string name = item.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) == names.end())
      return error("--shape {}: no input \"{}\"{}", item, name, suggestion(name, names));
    Shape shape;
    for (const std::string_view part : split(std::string_view(item).substr(equals + 1), 'x')) {
      char* end = nullptr;
      const std::string digits(part);
      shape.push_back(std::strtoll(digits.c_str(), &end, 10));
      if (digits.empty() || *end != '\0' || shape.back() < 1)
        return error("--shape {}: \"{}\" is no size; wants NAME=1x128", item, digits);
    }
    out[name] = std::move(shape);
  }
  return out;
}

std::map<std::string, int64_t> different_sizes(const Graph& graph) {
  std::map<std::string, int64_t> sizes;
  int64_t first = 2, other = 8;
  for (const ValueId id : graph.inputs()) {
    const TypeInfo& type = graph.value(id).type;
    if (!type.shape) continue;
    for (size_t axis = 0; axis < type.shape->size(); ++axis) {
      const auto symbol = (*type.shape)[axis].symbol_name();
      if (symbol && !sizes.contains(*symbol)) sizes[*symbol] = axis == 0 ? first++ : other++;
    }
  }
  return sizes;
}

Result<std::vector<Tensor>> random_inputs(const Graph& graph,
                                          const InputShapes& shapes,
                                          const std::map<std::string, int64_t>& sizes,
                                          uint64_t seed) {
  const Uses uses(graph);
  std::vector<Tensor> out;
  Philox random(seed);
  for (const ValueId id : graph.inputs()) {
    const Value& v = graph.value(id);
    if (v.type.type == DType::kString)
      return error("input \"{}\" takes strings, which are not made up; give inputs by --inputs "
                   "FILE.npz",
                   v.name);
    const Shape shape = OCTET_TRY(shape_of(v, shapes, sizes));
    const int64_t count = OCTET_TRY(element_count(shape));
    constexpr int64_t kTruth = 2; // of what indexes nothing
    const int64_t table = index_bound(graph, uses, id), bound = table > 0 ? table : kTruth;
    std::vector<double> values(static_cast<size_t>(count));
    for (double& x : values)
      x = is_float(v.type.type) ? random.uniform(-1, 1) : static_cast<double>(random.below(bound));
    out.push_back(OCTET_TRY_WITH(Tensor::from_doubles(v.type.type, shape, values),
                                 fmt::format("input \"{}\"", v.name)));
  }
  return out;
}

} // namespace octet::cli
