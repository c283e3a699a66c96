// SPDX-License-Identifier: Apache-2.0
// Inference walks the graph in order, carries what is known of small integer tensors beside their
// types, and merges what operators say with what the file declared.
#include "ops/infer.h"

#include "core/format.h"
#include "graph/label.h"
#include "graph/verify.h"

namespace octet {
namespace {

/// Integer tensors up to this many elements are followed through shape computations.
constexpr int64_t kMaxShapeElements = 64;

using Values = KnownElements;

std::optional<std::vector<Dim>> known_elements(const Tensor& t) {
  if (t.rank() > 1 || t.count() > kMaxShapeElements) return std::nullopt;
  if (t.type() != DType::kInt64 && t.type() != DType::kInt32) return std::nullopt;
  std::vector<Dim> out;
  for (int64_t i = 0; i < t.count(); ++i) {
    // Read exactly: a double does not hold every int64.
    const Tensor a = t.aligned();
    out.emplace_back(t.type() == DType::kInt64 ? a.data<int64_t>()[static_cast<size_t>(i)]
                                               : a.data<int32_t>()[static_cast<size_t>(i)]);
  }
  return out;
}

InputInfo describe(const Graph& graph, ValueId id, const Values* values) {
  InputInfo info;
  if (!id.valid()) return info;
  info.present = true;
  info.type = graph.value(id).type;
  info.constant = graph.constant(id);
  if (info.constant) {
    info.value = known_elements(*info.constant);
    if (info.type.type == DType::kUndefined)
      info.type = tensor_type(info.constant->type(), info.constant->shape());
  } else if (values) {
    const auto found = values->find(id);
    if (found != values->end()) info.value = found->second;
  }
  return info;
}

/// What a declared shape is to what the operators say.
enum class Declared {
  kBinds,  ///< as good: a contradiction is an error
  kYields, ///< fills in what they leave open
};

/// What the operators say, and what is declared where they leave something open. `trusted` becomes
/// true when that brings a size.
TypeInfo filled(const TypeInfo& declared, TypeInfo inferred, bool& trusted) {
  if (!declared.shape) return inferred;
  if (!inferred.shape) inferred.shape.emplace(declared.shape->size(), Dim::unknown());
  if (declared.rank() != inferred.rank()) return inferred;
  for (size_t i = 0; i < inferred.shape->size(); ++i) {
    Dim& mine = (*inferred.shape)[i];
    if (mine.is_known()) continue;
    mine = (*declared.shape)[i];
    trusted = trusted || mine.is_constant();
  }
  return inferred;
}

/// The more precise of two statements; an error when they contradict each other.
Result<TypeInfo> merge(const TypeInfo& declared, const TypeInfo& inferred) {
  if (!declared.opaque.empty() || !inferred.opaque.empty())
    return inferred.opaque.empty() ? declared : inferred;
  TypeInfo out = inferred;
  if (out.type == DType::kUndefined) out.type = declared.type;
  if (declared.type != DType::kUndefined && declared.type != out.type)
    return error("is declared {} but computes {}", name(declared.type), name(out.type));
  if (!declared.shape) return out;
  if (!out.shape) {
    out.shape = declared.shape;
    return out;
  }
  if (declared.rank() != out.rank())
    return error("is declared {} but computes {}", declared.text(), out.text());
  for (size_t i = 0; i < out.shape->size(); ++i) {
    const Dim& d = (*declared.shape)[i];
    Dim& mine = (*out.shape)[i];
    if (d.is_constant() && mine.is_constant() && d.value() != mine.value())
      return error("is declared {} but computes {}", declared.text(), inferred.text());
    if (!mine.is_known() || (d.is_constant() && !mine.is_constant())) mine = d;
  }
  return out;
}

class Inference {
 public:
  Inference(UnknownOp unknown, int depth, Declared declared = Declared::kBinds)
      : unknown_(unknown), declared_(declared), depth_(depth) {}

  Status graph(Graph& g) {
    if (depth_ > kMaxSubgraphDepth)
      return error("subgraphs nest deeper than {}", kMaxSubgraphDepth);
    for (const NodeId id : OCTET_TRY(g.topological()))
      OCTET_TRY(node(g, id));
    return ok_status();
  }

  Status node(Graph& g, NodeId id) {
    const Node& n = g.node(id);
    const OpDef* op = find_op(n.domain, n.op_type);
    if (!op) {
      if (unknown_ == UnknownOp::kIgnore) return ok_status();
      return error(ErrorCode::kUnsupported,
                   "node {}: octet has no definition of this operator (domain \"{}\")", label(g, n),
                   n.domain);
    }
    InferContext context{.node = n, .version = g.opset(n.domain), .inputs = {}, .infer_body = {}};
    for (const ValueId in : n.inputs)
      context.inputs.push_back(describe(g, in, &values_));
    context.infer_body = [this, &g, &n](const Graph& body, std::span<const TypeInfo> types) {
      return this->body(g, n, body, types);
    };
    const std::vector<OutputInfo> outputs =
        OCTET_TRY_WITH(op->infer.fn(context), fmt::format("node {}", label(g, n)));
    const std::vector<ValueId> out_ids = n.outputs;
    for (size_t k = 0; k < out_ids.size() && k < outputs.size(); ++k) {
      if (!out_ids[k].valid()) continue;
      TypeInfo merged = OCTET_TRY_WITH(
          combine(g.value(out_ids[k]).type, outputs[k].type),
          fmt::format("node {}: output \"{}\"", label(g, n), g.value(out_ids[k]).name));
      if (outputs[k].value) values_[out_ids[k]] = *outputs[k].value;
      g.set_type(out_ids[k], std::move(merged));
    }
    return ok_status();
  }

  Values take_values() { return std::move(values_); }
  /// Declared shapes that yield filled something in.
  bool trusted() const { return trusted_; }

 private:
  Result<TypeInfo> combine(const TypeInfo& declared, const TypeInfo& inferred) {
    const bool tensors = declared.opaque.empty() && inferred.opaque.empty();
    if (declared_ == Declared::kBinds || !tensors) return merge(declared, inferred);
    TypeInfo types_only = declared;
    types_only.shape.reset();
    return filled(declared, OCTET_TRY(merge(types_only, inferred)), trusted_);
  }

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
    Inference inside(unknown_, depth_ + 1, declared_);
    OCTET_TRY_WITH(inside.graph(copy), fmt::format("body of {}", label(outer, n)));
    trusted_ = trusted_ || inside.trusted_;
    std::vector<TypeInfo> out;
    for (const ValueId id : copy.outputs())
      out.push_back(copy.value(id).type);
    return out;
  }

  UnknownOp unknown_;
  Declared declared_;
  int depth_;
  bool trusted_ = false;
  Values values_;
};

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
  return Inference(unknown, 0).graph(graph);
}

Status infer_types(Graph& graph, KnownElements& elements) {
  Inference inference(UnknownOp::kIgnore, 0);
  OCTET_TRY(inference.graph(graph));
  elements = inference.take_values();
  return ok_status();
}

Status infer_types_to_run(Graph& graph, KnownElements& elements, bool& trusted) {
  Inference inference(UnknownOp::kIgnore, 0, Declared::kYields);
  OCTET_TRY(inference.graph(graph));
  elements = inference.take_values();
  trusted = inference.trusted();
  return ok_status();
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
