// SPDX-License-Identifier: Apache-2.0
//   a ─▶ Add(b) ─▶ Relu ─▶ Mul(c) ─▶ y    =>    a, b ─▶ Map "add x0 x1; relu t0; mul t1 c0" ─▶ y
// Exact, whatever broadcasts. A node joins the one that alone reads its result, where that computes
// nothing twice as far as shapes are known, and the program stays within its limits.
#include "passes/lower/fuse_maps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

class Fuser {
 public:
  Fuser(Graph& graph, std::vector<LowerNote>& notes)
      : graph_(graph), uses_(graph), notes_(notes),
        programs_(static_cast<size_t>(graph.node_bound())),
        parts_(static_cast<size_t>(graph.node_bound())) {
    for (int32_t i = 0; i < graph.node_bound(); ++i)
      owner_.push_back(NodeId{i});
    for (size_t i = 0; i < notes.size(); ++i)
      if (!notes[i].name.empty()) note_of_.emplace(notes[i].name, i);
  }

  Status run() {
    const std::vector<NodeId> order = OCTET_TRY(graph_.topological());
    for (const NodeId id : order) {
      at(programs_, id) = mapped(graph_, graph_.node(id), Bits::kSame);
      if (at(programs_, id)) absorb(id);
    }
    for (const NodeId id : order)
      if (owner(id) == id && !at(parts_, id).empty()) write(id);
    graph_.remove_dead(); // numbers that stand in programs now
    return ok_status();
  }

 private:
  template <class T>
  T& at(std::vector<T>& of, NodeId id) {
    return of[static_cast<size_t>(id.index)];
  }
  NodeId owner(NodeId id) { return at(owner_, id); }

  /// All that reads the value is, or has joined, this node.
  bool reads_alone(NodeId id, ValueId value) {
    const auto users = uses_.of(value);
    return !graph_.is_output(value) &&
           std::all_of(users.begin(), users.end(),
                       [&](const Uses::Use& use) { return owner(use.node) == id; });
  }

  void absorb(NodeId id) {
    const TypeInfo& type = graph_.value(graph_.node(id).outputs[0]).type;
    for (size_t k = 0; k < at(programs_, id)->inputs.size();) {
      const ValueId value = at(programs_, id)->inputs[k].id;
      const NodeId maker = graph_.value(value).producer;
      const bool candidate = maker.valid() && at(programs_, maker) &&
                             covers(graph_.value(value).type, type) && reads_alone(id, value);
      auto both = candidate ? joined(*at(programs_, maker), *at(programs_, id), k) : std::nullopt;
      if (!both) {
        ++k;
        continue;
      }
      at(programs_, id) = std::move(both);
      at(programs_, maker).reset();
      std::vector<NodeId>& parts = at(parts_, id);
      parts.insert(parts.end(), at(parts_, maker).begin(), at(parts_, maker).end());
      parts.push_back(maker);
      for (const NodeId part : parts)
        at(owner_, part) = id;
      at(parts_, maker).clear();
      k = 0; // the inputs are others
    }
  }

  void write(NodeId id) {
    Node& node = graph_.mutable_node(id);
    std::vector<std::string> origin;
    const auto add = [&](const Node& part) {
      for (const std::string& name : part.origin)
        if (std::find(origin.begin(), origin.end(), name) == origin.end()) origin.push_back(name);
    };
    const auto into = note_of_.find(node.name);
    if (into != note_of_.end()) notes_[into->second].form = "Map";
    std::vector<NodeId> parts = at(parts_, id);
    std::sort(parts.begin(), parts.end());
    for (const NodeId part : parts) {
      add(graph_.node(part));
      const auto note = note_of_.find(graph_.node(part).name);
      if (note == note_of_.end() || into == note_of_.end()) continue;
      notes_[note->second].runs = LowerForm::kFused;
      notes_[note->second].form = "fused into " + notes_[into->second].node;
      notes_[note->second].why.clear();
    }
    add(node);
    set_map(node, *at(programs_, id));
    node.origin = std::move(origin);
    for (const NodeId part : parts)
      graph_.remove_node(part);
  }

  Graph& graph_;
  const Uses uses_; ///< before any change
  std::vector<LowerNote>& notes_;
  std::map<std::string, size_t, std::less<>> note_of_;
  std::vector<std::optional<Mapped>> programs_;
  std::vector<NodeId> owner_;              ///< by node: the one that it has joined, or itself
  std::vector<std::vector<NodeId>> parts_; ///< by node: those that have joined it
};

} // namespace

Status fuse_maps(Graph& graph, std::vector<LowerNote>& notes) {
  return Fuser(graph, notes).run();
}

} // namespace octet::lowering
