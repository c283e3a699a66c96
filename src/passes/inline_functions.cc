// SPDX-License-Identifier: Apache-2.0
// Source: the ONNX IR specification, "Functions": an attribute that the call does not have and that
// has no default is left out of the nodes that refer to it; a missing input is a missing input of
// the nodes that use it.
#include "passes/inline_functions.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/format.h"
#include "graph/verify.h"
#include "onnx/function.h"

namespace octet {
namespace {

constexpr int kMaxNodes = 1000000;
constexpr size_t kMaxNesting = 64;

using Key = std::tuple<std::string, std::string, std::string>; // domain, name, overload

Key key_of(const Node& node) {
  return {node.domain, node.op_type, node.overload};
}

/// Calls `fn(const Graph&)` for the subgraphs of a node.
template <class Fn>
void each_body(const Node& node, Fn&& fn) {
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* body = std::get_if<GraphPtr>(&attribute.value)) fn(**body);
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute.value))
      for (const GraphPtr& body : *bodies)
        fn(*body);
  }
}

/// Replaces the subgraphs of a node by changed copies: `fn(Graph&) -> Status`.
template <class Fn>
Status change_bodies(Node& node, Fn&& fn) {
  const auto change = [&](GraphPtr& body) -> Status {
    auto copy = std::make_shared<Graph>(*body);
    OCTET_TRY(fn(*copy));
    body = std::move(copy);
    return ok_status();
  };
  for (auto& [name, attribute] : node.attributes) {
    if (auto* body = std::get_if<GraphPtr>(&attribute.value)) OCTET_TRY(change(*body));
    if (auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute.value))
      for (GraphPtr& body : *bodies)
        OCTET_TRY(change(body));
  }
  return ok_status();
}

void collect_domains(const Graph& graph, std::set<std::string>& out) {
  for (const NodeId id : graph.nodes()) {
    out.insert(graph.node(id).domain);
    each_body(graph.node(id), [&](const Graph& body) { collect_domains(body, out); });
  }
}

/// Puts the call's attributes in the place of references to them.
void substitute(Attributes& attributes, const Attributes& call, const Attributes& defaults) {
  for (auto at = attributes.begin(); at != attributes.end();) {
    if (at->second.reference.empty()) {
      ++at;
      continue;
    }
    const Attributes* from = nullptr;
    for (const Attributes* candidate : {&call, &defaults})
      if (from == nullptr && candidate->contains(at->second.reference)) from = candidate;
    if (from == nullptr) {
      at = attributes.erase(at);
      continue;
    }
    at->second = from->find(at->second.reference)->second;
    ++at;
  }
}

Status substitute_bodies(Node& node, const Attributes& call, const Attributes& defaults) {
  return change_bodies(node, [&](Graph& body) -> Status {
    for (const NodeId id : body.nodes()) {
      Node& inner = body.mutable_node(id);
      substitute(inner.attributes, call, defaults);
      OCTET_TRY(substitute_bodies(inner, call, defaults));
    }
    return ok_status();
  });
}

class Inliner {
 public:
  explicit Inliner(Graph& root) : root_(root) {
    for (const LocalFunction& f : root.info.functions)
      functions_.emplace(Key{f.domain == "ai.onnx" ? "" : f.domain, f.name, f.overload}, &f);
  }

  Result<int> run() {
    OCTET_TRY(graph(root_));
    root_.info.functions.clear();
    std::set<std::string> used;
    collect_domains(root_, used);
    for (const auto& [key, function] : functions_)
      if (!used.contains(std::get<0>(key))) root_.opsets.erase(std::get<0>(key));
    return calls_;
  }

 private:
  Status graph(Graph& g) {
    for (const NodeId id : g.nodes()) {
      const std::string label = g.node(id).label();
      OCTET_TRY_WITH(node(g, id), fmt::format("node {}", label));
    }
    if (&g != &root_) g.opsets = root_.opsets;
    return ok_status();
  }

  Status node(Graph& g, NodeId id) {
    if (functions_.contains(key_of(g.node(id)))) return call(g, id);
    return change_bodies(g.mutable_node(id), [&](Graph& body) { return graph(body); });
  }

  Result<const onnx::Function*> read(const Key& key) {
    const auto found = read_.find(key);
    if (found != read_.end()) return &found->second;
    onnx::Function function = OCTET_TRY(onnx::read_function(*functions_.at(key)));
    return &read_.emplace(key, std::move(function)).first->second;
  }

  Status import(const Graph& body) {
    std::set<std::string> used;
    collect_domains(body, used);
    for (const auto& [domain, version] : body.opsets) {
      if (!used.contains(domain)) continue;
      const int64_t has = root_.opset(domain);
      if (has == 0) root_.opsets[domain] = version;
      if (has != 0 && has != version)
        return error(ErrorCode::kUnsupported,
                     "is written for version {} of the operator set \"{}\", the model imports {}; "
                     "convert one of them first",
                     version, domain, has);
    }
    return ok_status();
  }

  Status call(Graph& g, NodeId id) {
    const Key key = key_of(g.node(id));
    if (std::find(stack_.begin(), stack_.end(), key) != stack_.end())
      return error("function {}.{} calls itself", std::get<0>(key), std::get<1>(key));
    if (stack_.size() >= kMaxNesting) return error("functions nest deeper than {}", kMaxNesting);
    const onnx::Function* function = OCTET_TRY(read(key));
    OCTET_TRY_WITH(import(function->body),
                   fmt::format("function {}.{}", std::get<0>(key), std::get<1>(key)));
    stack_.push_back(key);
    OCTET_TRY(expand(g, id, *function));
    stack_.pop_back();
    ++calls_;
    return ok_status();
  }

  Status expand(Graph& g, NodeId id, const onnx::Function& function) {
    const Node caller = g.node(id);
    const Graph& body = function.body;
    if (caller.inputs.size() > body.inputs().size() ||
        caller.outputs.size() > body.outputs().size())
      return error("has {} inputs and {} outputs, its function has {} and {}", caller.inputs.size(),
                   caller.outputs.size(), body.inputs().size(), body.outputs().size());
    std::vector<ValueId> map(static_cast<size_t>(body.value_bound()));
    for (size_t i = 0; i < body.inputs().size(); ++i)
      map[static_cast<size_t>(body.inputs()[i].index)] = caller.input(i);
    const std::string prefix = caller.name.empty() ? caller.op_type : caller.name;
    std::vector<NodeId> made;
    for (const NodeId inner : OCTET_TRY(body.topological()))
      made.push_back(OCTET_TRY(add(g, body, inner, caller, function.defaults, prefix, map)));
    OCTET_TRY(connect(g, body, caller, map));
    for (const NodeId inner : made) {
      const std::string label = g.node(inner).label();
      OCTET_TRY_WITH(node(g, inner), fmt::format("node {}", label));
    }
    return ok_status();
  }

  Result<NodeId> add(Graph& g,
                     const Graph& body,
                     NodeId inner,
                     const Node& caller,
                     const Attributes& defaults,
                     const std::string& prefix,
                     std::vector<ValueId>& map) {
    if (++nodes_ > kMaxNodes) return error("inlining makes more than {} nodes", kMaxNodes);
    const auto mapped = [&](ValueId v) {
      return v.valid() ? map[static_cast<size_t>(v.index)] : ValueId{};
    };
    Node node = body.node(inner);
    node.name = prefix + "/" + (node.name.empty() ? node.op_type : node.name);
    node.origin = caller.origin.empty() ? std::vector<std::string>{caller.name} : caller.origin;
    for (ValueId& in : node.inputs)
      in = mapped(in);
    for (ValueId& captured : node.captures) {
      captured = mapped(captured);
      if (!captured.valid())
        return error(ErrorCode::kUnsupported, "a subgraph of {} uses an input that the call omits",
                     node.label());
    }
    for (ValueId& out : node.outputs) {
      if (!out.valid()) continue;
      const Value& v = body.value(out);
      const ValueId made = g.add_value(prefix + "/" + v.name, v.type);
      map[static_cast<size_t>(out.index)] = made;
      out = made;
    }
    substitute(node.attributes, caller.attributes, defaults);
    OCTET_TRY(substitute_bodies(node, caller.attributes, defaults));
    OCTET_TRY(change_bodies(node, [&](Graph& sub) -> Status {
      for (int32_t i = 0; i < sub.value_bound(); ++i) {
        Value& v = sub.mutable_value(ValueId{i});
        if (v.kind == ValueKind::kCapture) v.captured = mapped(v.captured);
      }
      return ok_status();
    }));
    return g.add_node(std::move(node));
  }

  /// Gives the function's results the place and the names of the call's outputs.
  static Status
  connect(Graph& g, const Graph& body, const Node& caller, const std::vector<ValueId>& map) {
    std::set<ValueId> taken;
    std::vector<std::pair<ValueId, Value>> results;
    for (size_t k = 0; k < caller.outputs.size(); ++k) {
      if (!caller.outputs[k].valid()) continue;
      const ValueId inner = body.outputs()[k];
      ValueId made = map[static_cast<size_t>(inner.index)];
      if (!made.valid()) return error("output {} is an input that the call omits", k);
      // A value that has a name of its own, or two, needs a node to carry the output's.
      if (body.value(inner).kind != ValueKind::kNodeOutput || !taken.insert(made).second)
        made = g.emit("Identity", {made}, {}, caller.name + "/output");
      results.emplace_back(made, g.value(caller.outputs[k]));
    }
    for (const auto& [made, old] : results)
      g.replace_uses(old.id, made);
    g.remove_node(caller.id);
    for (const auto& [made, old] : results) {
      g.rename(made, old.name);
      Value& v = g.mutable_value(made);
      if (old.type.type != DType::kUndefined || !old.type.opaque.empty()) v.type = old.type;
      v.doc = old.doc;
      v.metadata = old.metadata;
      v.quant_parameters = old.quant_parameters;
      v.declared = old.declared;
    }
    return ok_status();
  }

  Graph& root_;
  std::map<Key, const LocalFunction*> functions_;
  std::map<Key, onnx::Function> read_;
  std::vector<Key> stack_;
  int calls_ = 0, nodes_ = 0;
};

} // namespace

Result<int> inline_functions(Graph& graph) {
  if (graph.info.functions.empty()) return 0;
  Graph copy = graph;
  const int calls = OCTET_TRY_WITH(Inliner(copy).run(), "inline functions");
  OCTET_TRY_WITH(verify(copy), "inline functions");
  graph = std::move(copy);
  return calls;
}

} // namespace octet
