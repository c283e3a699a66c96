// SPDX-License-Identifier: Apache-2.0
// Source: the ONNX IR specification, "Functions": an attribute that the call does not have and that
// has no default is left out of the nodes that refer to it; a missing input is a missing input of
// the nodes that use it.
#include <algorithm>
#include <set>
#include <tuple>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "graph/verify.h"
#include "onnx/function.h"

#include "octet/passes.h"

namespace octet {
namespace {

constexpr int kMaxInlinedNodes = 250000;
constexpr size_t kMaxInlinedBytes = size_t{1} << 30; ///< of function messages, counted once a call
constexpr size_t kMaxNesting = 64;
constexpr size_t kMaxPrefix = 200;

using Key = std::tuple<std::string, std::string, std::string>; // domain, name, overload

Key key_of(const Node& node) {
  return {node.domain, node.op_type, node.overload};
}

void collect_domains(const Graph& graph, std::set<std::string>& out) {
  for (const NodeId id : graph.nodes()) {
    out.insert(graph.node(id).domain);
    for (const Body& body : bodies_of(graph.node(id)))
      collect_domains(*body.graph, out);
  }
}

/// What a function's nodes refer to: the attributes of the call, and those that it may leave out.
struct Arguments {
  const Attributes* call = nullptr; ///< null outside functions
  const Attributes* defaults = nullptr;
};

/// Puts the call's attributes in the place of references to them.
void substitute(Attributes& attributes, const Arguments& arguments) {
  if (arguments.call == nullptr) return;
  for (auto at = attributes.begin(); at != attributes.end();) {
    const std::string& reference = at->second.reference;
    const Attributes* from = nullptr;
    for (const Attributes* candidate : {arguments.call, arguments.defaults})
      if (from == nullptr && candidate->contains(reference)) from = candidate;
    if (reference.empty()) {
      ++at;
    } else if (from == nullptr) {
      at = attributes.erase(at);
    } else {
      at->second = Attribute(from->find(reference)->second);
      ++at;
    }
  }
}

using Map = std::vector<ValueId>;

ValueId look_up(const Map& map, ValueId id) {
  return id.valid() ? map[static_cast<size_t>(id.index)] : ValueId{};
}

/// Counts nested calls of octet's own while it lives.
class Level {
 public:
  explicit Level(size_t& depth) : depth_(depth) { ++depth_; }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  bool too_deep() const { return depth_ > kMaxNesting; }

 private:
  size_t& depth_;
};

/// Where the nodes of one body go.
struct Place {
  Graph& out;
  const Map& map; ///< from the body's values to those of `out`
  Arguments arguments;
  std::string prefix; ///< of new names; empty outside functions
  const Node* caller; ///< null outside functions
};

/// Rebuilds the graph, so that the work grows with the size of the result only.
class Inliner {
 public:
  explicit Inliner(const Graph& root) {
    for (const LocalFunction& f : root.info.functions)
      functions_.emplace(Key{f.domain == "ai.onnx" ? "" : f.domain, f.name, f.overload}, &f);
  }

  Result<Graph> run(const Graph& root) {
    opsets_ = root.opsets;
    OCTET_TRY(survey(root));
    for (const NodeId id : root.nodes())
      if (!functions_.contains(key_of(root.node(id)))) names_.emplace(root.node(id).name, 0);
    for (const auto& [key, function] : functions_)
      if (!domains_.contains(std::get<0>(key))) opsets_.erase(std::get<0>(key));
    Graph out = OCTET_TRY(rebuild(root, nullptr, {}));
    out.info.functions.clear();
    return out;
  }
  int calls() const { return calls_; }

 private:
  /// Reads the functions that are called, directly or not, and collects what operator sets the
  /// result needs.
  Status survey(const Graph& graph) {
    const Level level(depth_);
    if (level.too_deep()) return error("functions and subgraphs nest too deep");
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      const Key key = key_of(node);
      for (const Body& body : bodies_of(node))
        OCTET_TRY(survey(*body.graph));
      if (!functions_.contains(key)) {
        domains_.insert(node.domain);
      } else if (!read_.contains(key)) {
        onnx::Function function = OCTET_TRY(onnx::read_function(*functions_.at(key)));
        const Graph& body = read_.emplace(key, std::move(function)).first->second.body;
        OCTET_TRY_WITH(import(body), fmt::format("function {}.{}", node.domain, node.op_type));
        OCTET_TRY(survey(body));
      }
    }
    return ok_status();
  }

  Status import(const Graph& body) {
    std::set<std::string> used;
    collect_domains(body, used);
    for (const auto& [domain, version] : body.opsets) {
      if (!used.contains(domain)) continue;
      const int64_t has = opsets_.emplace(domain, version).first->second;
      if (has != version)
        return error(ErrorCode::kUnsupported,
                     "is written for version {} of the operator set \"{}\", the model imports {}; "
                     "convert one of them first",
                     version, domain, has);
    }
    return ok_status();
  }

  /// A copy of a graph without calls. `outer`: the map of the graph around it.
  Result<Graph> rebuild(const Graph& in, const Map* outer, const Arguments& arguments) {
    Graph out;
    out.name = in.name;
    out.info = in.info;
    out.opsets = opsets_;
    Map map(static_cast<size_t>(in.value_bound()));
    for (int32_t i = 0; i < in.value_bound(); ++i) {
      const Value& old = in.value(ValueId{i});
      if (in.find_value(old.name) != old.id) continue;
      const bool is_capture = old.kind == ValueKind::kCapture;
      const ValueId captured = is_capture ? look_up(*outer, old.captured) : ValueId{};
      if (is_capture && !captured.valid())
        return error(ErrorCode::kUnsupported, "a subgraph uses \"{}\", which the call leaves out",
                     old.name);
      map[static_cast<size_t>(i)] = out.add_like(old, captured);
    }
    const auto all = [&](const std::vector<ValueId>& ids) {
      std::vector<ValueId> mapped;
      mapped.reserve(ids.size());
      for (const ValueId id : ids)
        mapped.push_back(look_up(map, id));
      return mapped;
    };
    out.set_inputs(all(in.inputs()));
    out.set_outputs(all(in.outputs()));
    const Place place{out, map, arguments, "", nullptr};
    for (const NodeId id : OCTET_TRY(in.topological()))
      OCTET_TRY_WITH(add(in.node(id), place), fmt::format("node {}", label(in, in.node(id))));
    return out;
  }

  /// Adds a node to the result, or the nodes of the function that it calls.
  Status add(const Node& old, const Place& place) {
    const Level level(depth_);
    if (level.too_deep()) return error("functions and subgraphs nest too deep");
    if (++nodes_ > kMaxInlinedNodes)
      return error("inlining makes more than {} nodes", kMaxInlinedNodes);
    Node node = old;
    for (std::vector<ValueId>* ids : {&node.inputs, &node.outputs, &node.captures})
      for (ValueId& id : *ids)
        id = look_up(place.map, id);
    substitute(node.attributes, place.arguments);
    for (const MutableBody& body : bodies_of(node))
      body.graph = std::make_shared<const Graph>(
          OCTET_TRY(rebuild(*body.graph, &place.map, place.arguments)));
    if (place.caller != nullptr) {
      node.name = place.prefix + "/" + (node.name.empty() ? node.op_type : node.name);
      node.origin = place.caller->origin;
    }
    if (functions_.contains(key_of(node))) return call(std::move(node), place.out);
    if (place.caller != nullptr) node.name = unique(node.name);
    place.out.add_node(std::move(node));
    return ok_status();
  }

  Status call(Node node, Graph& out) {
    const Key key = key_of(node);
    if (std::find(stack_.begin(), stack_.end(), key) != stack_.end())
      return error("function {}.{} calls itself", node.domain, node.op_type);
    bytes_ += functions_.at(key)->bytes.size();
    if (bytes_ > kMaxInlinedBytes)
      return error("inlining makes more than {} bytes", kMaxInlinedBytes);
    if (node.name.empty()) node.name = node.op_type;
    if (node.origin.empty()) node.origin = {node.name};
    stack_.push_back(key);
    OCTET_TRY(expand(node, read_.at(key), out));
    stack_.pop_back();
    ++calls_;
    return ok_status();
  }

  Status expand(const Node& caller, const onnx::Function& function, Graph& out) {
    const Graph& body = function.body;
    if (caller.inputs.size() > body.inputs().size() ||
        caller.outputs.size() > body.outputs().size())
      return error("has {} inputs and {} outputs, its function has {} and {}", caller.inputs.size(),
                   caller.outputs.size(), body.inputs().size(), body.outputs().size());
    const std::string prefix = unique(caller.name.substr(0, kMaxPrefix));
    Map map(static_cast<size_t>(body.value_bound()));
    for (size_t i = 0; i < body.inputs().size(); ++i)
      map[static_cast<size_t>(body.inputs()[i].index)] = caller.input(i);
    std::vector<std::pair<ValueId, ValueId>> copies; // from a body's value to an output
    for (size_t k = 0; k < caller.outputs.size(); ++k) {
      const ValueId inner = body.outputs()[k];
      ValueId& to = map[static_cast<size_t>(inner.index)];
      if (!caller.outputs[k].valid()) continue;
      if (body.value(inner).kind != ValueKind::kNodeOutput || to.valid())
        copies.emplace_back(inner, caller.outputs[k]);
      else
        to = caller.outputs[k];
    }
    for (int32_t i = 0; i < body.value_bound(); ++i) {
      const Value& v = body.value(ValueId{i});
      ValueId& to = map[static_cast<size_t>(i)];
      if (v.kind == ValueKind::kNodeOutput && !to.valid() && v.producer.valid())
        to = out.add_value(prefix + "/" + v.name, v.type);
    }
    const Arguments arguments{&caller.attributes, &function.defaults};
    const Place place{out, map, arguments, prefix, &caller};
    for (const NodeId id : OCTET_TRY(body.topological()))
      OCTET_TRY_WITH(add(body.node(id), place), fmt::format("node {}", label(body, body.node(id))));
    for (const auto& [inner, to] : copies) {
      Node identity;
      identity.name = unique(prefix + "/" + body.value(inner).name);
      identity.op_type = "Identity";
      identity.inputs = {look_up(map, inner)};
      identity.outputs = {to};
      identity.origin = caller.origin;
      if (!identity.inputs[0].valid())
        return error("output \"{}\" is an input that the call leaves out", body.value(inner).name);
      out.add_node(std::move(identity));
    }
    return ok_status();
  }

  /// A name that no node, and no function's prefix, got before.
  std::string unique(const std::string& name) {
    const auto [at, is_new] = names_.emplace(name, 0);
    if (is_new) return name;
    for (;;) {
      std::string next = fmt::format("{}_{}", name, ++at->second);
      if (names_.emplace(next, 0).second) return next;
    }
  }

  std::map<Key, const LocalFunction*> functions_;
  std::map<Key, onnx::Function> read_;
  std::map<std::string, int64_t> opsets_;
  std::set<std::string> domains_;    ///< of nodes that call no function
  std::map<std::string, int> names_; ///< to the last suffix tried
  std::vector<Key> stack_;
  size_t depth_ = 0, bytes_ = 0;
  int calls_ = 0, nodes_ = 0;
};

} // namespace

Result<int> inline_functions(Graph& graph) {
  if (graph.info.functions.empty()) return 0;
  Inliner inliner(graph);
  Graph out = OCTET_TRY_WITH(inliner.run(graph), "inline functions");
  OCTET_TRY_WITH(verify(out), "inline functions");
  graph = std::move(out);
  return inliner.calls();
}

} // namespace octet
