// SPDX-License-Identifier: Apache-2.0
// Inference walks the graph in order, carries what is known of small integer tensors beside their
// types, and fills in what the file declared where operators leave something open.
#include "ops/infer.h"

#include <algorithm>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "graph/verify.h"
#include "ops/declared.h"

namespace octet {
namespace {

/// Integer tensors up to this many elements are followed through shape computations.
constexpr int64_t kMaxShapeElements = 64;

} // namespace

std::optional<std::vector<Dim>> small_integers(const Tensor& t) {
  if (t.rank() > 1 || t.count() > kMaxShapeElements) return std::nullopt;
  if (t.type() != DType::kInt64 && t.type() != DType::kInt32) return std::nullopt;
  std::vector<Dim> out;
  const Tensor a = t.aligned();
  for (int64_t i = 0; i < t.count(); ++i) {
    // Read exactly: a double does not hold every int64.
    out.emplace_back(t.type() == DType::kInt64 ? a.data<int64_t>()[static_cast<size_t>(i)]
                                               : a.data<int32_t>()[static_cast<size_t>(i)]);
  }
  return out;
}

namespace {

InputInfo describe(const Graph& graph, ValueId id, const KnownElements* values) {
  InputInfo info;
  if (!id.valid()) return info;
  info.present = true;
  info.type = graph.value(id).type;
  info.constant = graph.constant(id);
  if (info.constant) {
    info.value = small_integers(*info.constant);
    if (info.type.type == DType::kUndefined)
      info.type = tensor_type(info.constant->type(), info.constant->shape());
  } else if (values) {
    const auto found = values->find(id);
    if (found != values->end()) info.value = found->second;
  }
  return info;
}

/// Whether two types cannot both be true of a tensor.
bool contradict(const TypeInfo& a, const TypeInfo& b) {
  if (a.type != b.type && a.type != DType::kUndefined && b.type != DType::kUndefined) return true;
  if (!a.shape || !b.shape) return false;
  if (a.rank() != b.rank()) return true;
  for (size_t i = 0; i < a.shape->size(); ++i) {
    const auto x = (*a.shape)[i].maybe_value(), y = (*b.shape)[i].maybe_value();
    if (x && y && *x != *y) return true;
  }
  return false;
}

/// As filled_in. `trusted` becomes true when what is declared brings a size or a rank.
TypeInfo filled(const TypeInfo& declared, TypeInfo inferred, bool& trusted) {
  const bool computes_tensor = inferred.type != DType::kUndefined || inferred.shape;
  if (!inferred.opaque.empty() || (!declared.opaque.empty() && computes_tensor)) return inferred;
  if (!declared.opaque.empty()) return declared;
  if (inferred.type == DType::kUndefined) inferred.type = declared.type;
  if (!declared.shape) return inferred;
  if (!inferred.shape) {
    inferred.shape.emplace(declared.shape->size(), Dim::unknown());
    trusted = true;
  }
  if (declared.rank() != inferred.rank()) return inferred;
  for (size_t i = 0; i < inferred.shape->size(); ++i) {
    Dim& mine = (*inferred.shape)[i];
    if (mine.is_known()) continue;
    mine = (*declared.shape)[i];
    trusted = trusted || mine.is_constant();
  }
  return inferred;
}

class Inference {
 public:
  Inference(UnknownOp unknown, int depth, std::string place = {})
      : unknown_(unknown), depth_(depth), place_(std::move(place)) {}

  Status graph(Graph& g) {
    if (depth_ > kMaxSubgraphDepth)
      return error("subgraphs nest deeper than {}", kMaxSubgraphDepth);
    for (const NodeId id : OCTET_TRY(g.topological()))
      OCTET_TRY(node(g, id));
    return ok_status();
  }

  Status node(Graph& g, NodeId id) {
    const Node& n = g.node(id);
    if (!find_op(n.domain, n.op_type)) {
      if (unknown_ == UnknownOp::kIgnore) return ok_status();
      return error(ErrorCode::kUnsupported,
                   "node {}: octet has no definition of this operator (domain \"{}\")", label(g, n),
                   n.domain);
    }
    const std::vector<OutputInfo> outputs =
        OCTET_TRY_WITH(outputs_of(g, n, found_.elements), fmt::format("node {}", label(g, n)));
    const std::vector<ValueId> out_ids = n.outputs;
    for (size_t k = 0; k < out_ids.size() && k < outputs.size(); ++k) {
      if (!out_ids[k].valid()) continue;
      const Value& v = g.value(out_ids[k]);
      if (contradict(v.type, outputs[k].type))
        found_.disagreements.push_back({place_ + v.name, depth_ > 0, v.type, outputs[k].type});
      TypeInfo merged = filled(v.type, outputs[k].type, found_.trusted);
      if (outputs[k].value && told_.count(out_ids[k]) == 0)
        found_.elements[out_ids[k]] = *outputs[k].value;
      g.set_type(out_ids[k], std::move(merged));
    }
    return ok_status();
  }

  Inferred take() { return std::move(found_); }
  void tell(const KnownElements& elements) {
    told_ = elements;
    found_.elements = elements;
  }

  Result<std::vector<OutputInfo>>
  outputs_of(const Graph& g, const Node& n, const KnownElements& elements) {
    const OpDef* op = find_op(n.domain, n.op_type);
    if (!op) return std::vector<OutputInfo>(n.outputs.size());
    InferContext context{.node = n, .version = g.opset(n.domain), .inputs = {}, .infer_body = {}};
    for (const ValueId in : n.inputs)
      context.inputs.push_back(describe(g, in, &elements));
    context.infer_body = [this, &g, &n](const Graph& body, std::span<const TypeInfo> types) {
      into_bodies_[&body].assign(types.begin(), types.end());
      return this->body(g, n, body, types);
    };
    return op->infer.fn(context);
  }

  BodyTypes take_body_types() { return std::move(into_bodies_); }

 private:
  Result<std::vector<TypeInfo>>
  body(const Graph& outer, const Node& n, const Graph& inner, std::span<const TypeInfo> types) {
    Graph copy = inner;
    for (size_t i = 0; i < types.size() && i < copy.inputs().size(); ++i)
      copy.set_type(copy.inputs()[i], types[i]);
    for (int32_t i = 0; i < copy.value_bound(); ++i) {
      const Value& v = copy.value(ValueId{i});
      if (v.kind == ValueKind::kCapture) copy.set_type(v.id, outer.value(v.captured).type);
    }
    if (copy.opsets.empty()) copy.opsets = outer.opsets;
    Inference inside(unknown_, depth_ + 1, fmt::format("{}{}: ", place_, label(outer, n)));
    OCTET_TRY_WITH(inside.graph(copy), fmt::format("body of {}", label(outer, n)));
    found_.trusted = found_.trusted || inside.found_.trusted;
    for (Disagreement& one : inside.found_.disagreements)
      found_.disagreements.push_back(std::move(one));
    std::vector<TypeInfo> out;
    for (const ValueId id : copy.outputs())
      out.push_back(copy.value(id).type);
    return out;
  }

  UnknownOp unknown_;
  int depth_;
  std::string place_; ///< of the graph: what leads to a body
  Inferred found_;
  KnownElements told_;
  BodyTypes into_bodies_; ///< of the bodies that were looked at, as they were last
};

/// Types of the whole graph. Where they do not fit together, because what operators leave open is
/// declared wrong, those that follow without any declared shape; bodies stay as they are declared.
Result<Inferred> walk(Graph& graph, UnknownOp unknown, const KnownElements& told) {
  Inference believing(unknown, 0);
  believing.tell(told);
  const Status fits = believing.graph(graph);
  Inferred found = believing.take();
  if (fits.ok()) return found;
  if (!found.trusted) return fits.error();
  Graph doubted = graph;
  forget_declared_shapes(doubted);
  Inference doubting(unknown, 0);
  doubting.tell(told);
  if (!doubting.graph(doubted).ok()) return fits.error();
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    graph.set_type(ValueId{i}, doubted.value(ValueId{i}).type);
  return doubting.take();
}

} // namespace

Graph standing_alone(const Graph& outer, const Graph& body) {
  Graph out = body;
  if (out.opsets.empty()) out.opsets = outer.opsets;
  for (int32_t i = 0; i < out.value_bound(); ++i) {
    const Value& v = out.value(ValueId{i});
    if (v.kind != ValueKind::kCapture) continue;
    if (const Tensor* constant = outer.constant(v.captured))
      out.set_constant(v.id, *constant);
    else
      out.set_type(v.id, outer.value(v.captured).type);
  }
  return out;
}

Status infer_types(Graph& graph, UnknownOp unknown) {
  static_cast<void>(OCTET_TRY(walk(graph, unknown, {})));
  return ok_status();
}

Result<Inferred> infer(Graph& graph, const KnownElements& told) {
  return walk(graph, UnknownOp::kIgnore, told);
}

Result<std::vector<OutputInfo>>
infer_outputs(const Graph& graph, NodeId node, const KnownElements& elements) {
  return Inference(UnknownOp::kIgnore, 0).outputs_of(graph, graph.node(node), elements);
}

TypeInfo filled_in(const TypeInfo& declared, TypeInfo inferred) {
  bool trusted = false;
  return filled(declared, std::move(inferred), trusted);
}

BodyTypes types_into_bodies(const Graph& graph, const Node& node) {
  Inference inference(UnknownOp::kIgnore, 0);
  // A branch that does not fit has its types all the same.
  static_cast<void>(inference.outputs_of(graph, node, {}));
  return inference.take_body_types();
}

Graph typed_body(const Graph& outer, const Graph& body, const BodyTypes& types) {
  Graph out = standing_alone(outer, body);
  const auto found = types.find(&body);
  if (found == types.end()) return out;
  for (size_t i = 0; i < out.inputs().size() && i < found->second.size(); ++i)
    out.set_type(out.inputs()[i], found->second[i]);
  return out;
}

Status infer_agreeing(Graph& graph, NodeId node) {
  Inference inference(UnknownOp::kIgnore, 0);
  OCTET_TRY(inference.node(graph, node));
  return must_agree(inference.take());
}

Status must_agree(const Inferred& found) {
  for (const Disagreement& one : found.disagreements)
    if (!one.in_body) return Error(one.text());
  return ok_status();
}

std::string Disagreement::text() const {
  return fmt::format("\"{}\" is declared {} but computes {}", value, declared.text(),
                     computed.text());
}

std::vector<Disagreement> disagreements(const Graph& graph) {
  Graph typed = graph;
  Inference inference(UnknownOp::kIgnore, 0);
  static_cast<void>(inference.graph(typed)); // what comes before an error counts all the same
  std::vector<Disagreement> out;
  for (Disagreement& one : inference.take().disagreements) {
    const bool known = std::any_of(out.begin(), out.end(), [&](const Disagreement& other) {
      return other.value == one.value;
    });
    if (!known) out.push_back(std::move(one));
  }
  return out;
}

Status infer_node(Graph& graph, NodeId node, UnknownOp unknown) {
  return Inference(unknown, 0).node(graph, node);
}

std::vector<InputInfo> input_infos(const Graph& graph, const Node& node) {
  std::vector<InputInfo> out;
  for (const ValueId id : node.inputs)
    out.push_back(describe(graph, id, nullptr));
  return out;
}

} // namespace octet
