// SPDX-License-Identifier: Apache-2.0
//   a: f16, b: f16 ─▶ Add ─▶ y: f16    =>    a, b: f32 ─▶ Add ─▶ RoundHalf ─▶ y: f32
// Tensors of f16 and bf16 are kept in f32, and what an operator computes is rounded to the type. DQ
// hands on what codes of 8 bits and int32 mean unrounded, so that products of codes stay integer, as
// in TensorRT's strongly typed networks. Rounding: the reference rounds a sum once, from double.
#include <algorithm>
#include <map>

#include "graph/bodies.h"
#include "graph/domains.h"
#include "ops/infer.h"
#include "passes/lower/lower.h"

namespace octet {

namespace {

bool is_half(DType type) {
  return type == DType::kFloat16 || type == DType::kBfloat16;
}

Result<Tensor> widened(const Tensor& half) {
  const std::vector<float> values = OCTET_TRY(half.to_floats());
  Tensor out = OCTET_TRY(Tensor::zeros(DType::kFloat32, half.shape()));
  std::copy(values.begin(), values.end(), out.mutable_data<float>().begin());
  return out;
}

/// Whether there is something to do that can be done.
bool applies(const Graph& graph) {
  bool any = false;
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    any = any || is_half(graph.value(ValueId{i}).type.type);
  const auto nodes = graph.nodes();
  return any && std::none_of(nodes.begin(), nodes.end(),
                             [&](NodeId id) { return has_bodies(graph.node(id)); });
}

class Widener {
 public:
  explicit Widener(Graph& graph) : graph_(graph), uses_(graph) {
    for (int32_t i = 0; i < graph.value_bound(); ++i)
      types_.push_back(graph.value(ValueId{i}).type.type);
  }

  Status run() {
    for (const ValueId id : graph_.constants())
      if (is_half(type_of(id))) OCTET_TRY(widen_constant(id));
    for (const ValueId id : graph_.inputs())
      if (is_half(type_of(id))) move_uses(id, cast(id, DType::kFloat32, "/wide"));
    for (const NodeId id : graph_.nodes())
      OCTET_TRY(widen(id));
    std::vector<ValueId> outputs = graph_.outputs();
    for (ValueId& out : outputs)
      narrow_output(out);
    graph_.set_outputs(std::move(outputs));
    return infer_types(graph_);
  }

 private:
  DType type_of(ValueId id) const {
    const auto i = static_cast<size_t>(id.index);
    return id.valid() && i < types_.size() ? types_[i] : DType::kUndefined;
  }

  Status widen_constant(ValueId id) {
    const Tensor& t = *graph_.constant(id);
    graph_.set_constant(id, OCTET_TRY(widened(t)));
    return ok_status();
  }

  ValueId cast(ValueId id, DType to, const std::string& suffix) {
    Attributes attributes;
    attributes["to"].value = static_cast<int64_t>(to);
    return made_of(
        id, graph_.emit("Cast", {id}, std::move(attributes), graph_.value(id).name + suffix));
  }

  /// The new node's origin is the maker of `source`.
  ValueId made_of(ValueId source, ValueId y) {
    const Node* maker = graph_.producer(source);
    if (maker != nullptr)
      graph_.mutable_node(graph_.value(y).producer).origin =
          maker->origin.empty() ? std::vector{maker->name} : maker->origin;
    return y;
  }

  /// Of nodes of the file.
  void move_uses(ValueId from, ValueId to) {
    for (const Uses::Use& use : uses_.of(from))
      graph_.set_node_input(use.node, use.input, to);
  }

  Status widen(NodeId id) {
    Node& node = graph_.mutable_node(id);
    if (node.is("Cast") && is_half(static_cast<DType>(node.attr_int("to", 0))))
      node.set("to", static_cast<int64_t>(DType::kFloat32));
    for (const char* key : {"dtype", "output_dtype", "precision", "stash_type"})
      if (is_half(static_cast<DType>(node.attr_int(key, 0))))
        node.set(key, static_cast<int64_t>(DType::kFloat32));
    if (const Attribute* value = node.attr("value"))
      if (const Tensor* t = std::get_if<Tensor>(&value->value); t != nullptr && is_half(t->type()))
        node.set("value", OCTET_TRY(widened(*t)));
    const bool keeps = keeps_elements(graph_, node);
    const std::vector<ValueId> outputs = node.outputs;
    for (const ValueId out : outputs) {
      if (!is_half(type_of(out))) continue;
      TypeInfo type = graph_.value(out).type;
      type.type = DType::kFloat32;
      graph_.set_type(out, std::move(type));
      if (!keeps) round(out);
    }
    return ok_status();
  }

  void round(ValueId out) {
    Attributes to;
    to["to"].value = static_cast<int64_t>(type_of(out));
    const std::string name = graph_.value(out).name;
    const ValueId y =
        made_of(out, graph_.emit("RoundHalf", {out}, std::move(to), name + "/rounded", kNative));
    move_uses(out, y);
    rounded_.emplace(out, y);
  }

  void narrow_output(ValueId& out) {
    const DType type = type_of(out);
    if (!is_half(type)) return;
    const auto [narrowed, is_new] = narrowed_.try_emplace(out);
    if (is_new) {
      const std::string name = graph_.value(out).name;
      const auto rounded = rounded_.find(out);
      narrowed->second = cast(rounded == rounded_.end() ? out : rounded->second, type, "/narrow");
      graph_.rename(out, name + "/wide");
      graph_.rename(narrowed->second, name);
    }
    out = narrowed->second;
  }

  Graph& graph_;
  const Uses uses_;          ///< in the file
  std::vector<DType> types_; ///< as the file says, by value
  std::map<ValueId, ValueId> rounded_, narrowed_;
};

} // namespace

// What fills may fill in a number that 16 bits do not hold. Codes of 16 bits are in no integer product.
bool keeps_elements(const Graph& graph, const Node& node) {
  const Motion::Kind moves = motion_of(node).kind;
  if (node.is("DequantizeLinear")) {
    const DType codes = graph.value(node.input(0)).type.type;
    return codes != DType::kInt16 && codes != DType::kUint16;
  }
  return facts_of(node).exact || (moves != Motion::Kind::kNone && moves != Motion::Kind::kFill &&
                                  moves != Motion::Kind::kCast);
}

void compute_half_in_float(Graph& graph) {
  if (!applies(graph)) return;
  Graph wide = graph;
  wide.opsets[kNative] = 1;
  if (Widener(wide).run().ok()) graph = std::move(wide);
}

} // namespace octet
