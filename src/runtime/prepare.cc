// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepare.h"

#include <algorithm>

#include "core/format.h"
#include "core/pages.h"
#include "core/released.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "graph/verify.h"
#include "ops/declared.h"
#include "ops/infer.h"
#include "passes/lower/lower.h"
#include "passes/pack/pack_sequences.h"
#include "runtime/packs.h"

#include "octet/passes.h"

namespace octet::runtime {
namespace {

/// By value id: whether all elements of an integer tensor follow from the sizes of the inputs.
std::vector<bool> fully_known(const Graph& graph, const KnownElements& elements) {
  std::vector<bool> known(static_cast<size_t>(graph.value_bound()), false);
  for (const auto& [id, dims] : elements)
    known[static_cast<size_t>(id.index)] =
        std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_known(); });
  return known;
}

} // namespace

std::vector<bool> made_of_shapes(const Graph& g, std::span<const NodeId> order) {
  std::vector<bool> out(static_cast<size_t>(g.value_bound()), false);
  for (const ValueId v : g.constants())
    out[static_cast<size_t>(v.index)] = true;
  for (const NodeId id : order) {
    const Node& node = g.node(id);
    const bool of_shape = node.is("Shape") || node.is("Size");
    const bool all = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
      return !v.valid() || out[static_cast<size_t>(v.index)];
    });
    if (!of_shape && (!all || facts_of(node).random || has_bodies(node))) continue;
    for (const ValueId v : node.outputs)
      if (v.valid()) out[static_cast<size_t>(v.index)] = true;
  }
  return out;
}

namespace {

/// Who still reads the bytes of constants, while nodes are prepared.
class Readers {
 public:
  explicit Readers(const Graph& graph)
      : left_(static_cast<size_t>(graph.value_bound()), 0), aligned_(left_.size(), false) {
    for (const NodeId id : graph.nodes()) {
      for (const ValueId v : graph.node(id).inputs)
        add(v);
      for (const ValueId v : graph.node(id).captures)
        add(v);
    }
    for (const ValueId v : graph.outputs()) {
      add(v);
      aligned_[static_cast<size_t>(v.index)] = true;
    }
  }

  /// A node that is prepared. Gives the constants that nobody reads any more.
  std::vector<ValueId> prepared(const Graph& graph, const Node& node, const Choice& choice) {
    std::vector<ValueId> out;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (!v.valid()) continue;
      const auto names = [&](const std::vector<size_t>& inputs) {
        return std::find(inputs.begin(), inputs.end(), i) != inputs.end();
      };
      const auto at = static_cast<size_t>(v.index);
      const bool packed = names(choice.packed);
      aligned_[at] = aligned_[at] || (!packed && !names(choice.any_address));
      if (packed && --left_[at] == 0 && graph.value(v).is_constant()) out.push_back(v);
    }
    for (const ValueId v : node.captures)
      aligned_[static_cast<size_t>(v.index)] = true;
    return out;
  }

  bool want_aligned(ValueId v) const { return aligned_[static_cast<size_t>(v.index)]; }

 private:
  void add(ValueId v) {
    if (v.valid()) ++left_[static_cast<size_t>(v.index)];
  }

  std::vector<int> left_;
  std::vector<bool> aligned_; ///< somebody wants it so
};

/// Smaller ones are not worth the loss of a graph that can be looked at.
constexpr size_t kLeastReleased = 4096;

void release(Graph& graph, ValueId id) {
  const Tensor& constant = graph.value(id).constant;
  if (is_released(constant)) return; // it came so
  constant.page_out();
  graph.set_constant(id, released(constant));
}

/// A file of packs says again what it holds: inputs that were packed otherwise are read again.
void keep_common(std::vector<size_t>& inputs, const std::vector<size_t>& held) {
  std::erase_if(inputs,
                [&](size_t i) { return std::find(held.begin(), held.end(), i) == held.end(); });
}

} // namespace

std::vector<bool> needed_values(const Graph& g,
                                std::span<const NodeId> order,
                                const std::function<bool(ValueId)>& is_known) {
  std::vector<bool> needed(static_cast<size_t>(g.value_bound()), false);
  const auto need = [&](ValueId v) {
    if (v.valid() && !is_known(v)) needed[static_cast<size_t>(v.index)] = true;
  };
  for (const ValueId v : g.outputs())
    need(v);
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = g.node(order[i]);
    if (!makes_needed(node, needed)) continue;
    for (const ValueId v : node.inputs)
      need(v);
    for (const ValueId v : node.captures)
      need(v);
  }
  return needed;
}

bool makes_needed(const Node& node, const std::vector<bool>& needed) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId v) { return v.valid() && needed[static_cast<size_t>(v.index)]; });
}

Result<Graph> ready_graph(const Graph& graph, const SessionOptions& options) {
  OCTET_TRY(verify(graph));
  Graph ready = graph;
  forget_declared_shapes(ready);
  if (!options.lower) return ready;
  if (options.packed) OCTET_TRY(name_sequence_axes(ready));
  OCTET_TRY(simplify(ready));
  ready = OCTET_TRY(lower(ready, {.integer = options.integer})).graph;
  return options.packed ? pack_sequences(ready) : Result<Graph>(std::move(ready));
}

Result<std::shared_ptr<const PreparedGraph>> prepare_graph(Graph graph,
                                                           const PrepareOptions& options) {
  auto out = std::make_shared<PreparedGraph>();
  const Inferred found = OCTET_TRY(infer(graph));
  out->graph = std::move(graph);
  out->isa = options.isa;
  out->store = options.store;
  const Graph& g = out->graph;
  out->order = OCTET_TRY(g.topological());
  out->nodes.resize(static_cast<size_t>(g.node_bound()));
  out->by_reference.resize(out->nodes.size(), false);
  out->planned_at.resize(out->nodes.size(), 0);
  const std::vector<bool> known = fully_known(g, found.elements);
  const auto is_known = [&](ValueId v) { return known[static_cast<size_t>(v.index)]; };
  const std::vector<bool> needed = needed_values(g, out->order, is_known);
  const std::vector<bool> of_shapes = made_of_shapes(g, out->order);
  PackedMemory own;
  PackedMemory* const memory = options.memory ? options.memory : &own;
  Readers readers(g);
  std::vector<bool> unread(static_cast<size_t>(g.value_bound()), false);
  size_t released_bytes = 0;
  for (const NodeId id : out->order) {
    const Node& node = g.node(id);
    PlannedNode planned{label(g, node), "view", {}, node.origin, node.op_type};
    out->planned_at[static_cast<size_t>(id.index)] = out->planned.size();
    if (is_view(g, node)) {
      out->planned.push_back(std::move(planned));
      readers.prepared(g, node, {}); // whoever reads the view reads the constant
      continue;
    }
    Choice choice = choose({g, node, options.isa, is_known, options.store, memory});
    if (!choice.prepared)
      return error(ErrorCode::kUnsupported, "node {}: {}", label(g, node), choice.reason);
    const bool runs =
        makes_needed(node, needed) && !(choice.by_reference && makes_needed(node, of_shapes));
    planned.kernel = runs ? choice.name : "shape";
    planned.why = runs ? choice.reason : "";
    out->planned.push_back(planned);
    for (const PlannedNode& inside : choice.inside)
      out->planned.push_back({planned.node + " " + inside.node, inside.kernel, inside.why,
                              inside.origin, inside.op_type});
    out->by_reference[static_cast<size_t>(id.index)] = choice.by_reference;
    out->nodes[static_cast<size_t>(id.index)] = std::move(choice.prepared);
    // A plan evaluates what it can make of shapes.
    if (makes_needed(node, of_shapes)) choice.packed.clear();
    if (options.store) keep_common(choice.packed, options.store->take_packed());
    // Packs do not lie where weights lay.
    if (released_bytes >= kPieceBytes) {
      give_back_freed_memory();
      released_bytes = 0;
    }
    for (const ValueId v : readers.prepared(g, node, choice)) {
      if (g.value(v).constant.bytes().size() < kLeastReleased) continue;
      unread[static_cast<size_t>(v.index)] = true;
      if (options.store) options.store->prepared(g.value(v).constant, false);
      if (options.keep_weights) continue;
      released_bytes += g.value(v).constant.bytes().size();
      release(out->graph, v);
    }
  }
  for (const ValueId v : g.constants())
    if (options.store && !unread[static_cast<size_t>(v.index)])
      options.store->prepared(g.value(v).constant, true);
  out->packed_bytes = own.bytes;
  out->constants.resize(static_cast<size_t>(g.value_bound()));
  for (const ValueId v : g.constants())
    out->constants[static_cast<size_t>(v.index)] =
        readers.want_aligned(v) ? g.value(v).constant.aligned() : g.value(v).constant;
  return std::shared_ptr<const PreparedGraph>(std::move(out));
}

} // namespace octet::runtime
