// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/network_blocks.h"

#include <algorithm>
#include <set>

#include "ops/infer.h"

namespace octet {

namespace {

/// The network in order: for each node how far what it makes is read.
class BlockFinder {
 public:
  BlockFinder(const Graph& graph, std::span<const NodeId> products)
      : graph_(graph), products_(products.begin(), products.end()) {}

  Result<std::vector<NetworkBlock>> run(size_t least) {
    order_ = OCTET_TRY(graph_.topological());
    follow();
    std::vector<NetworkBlock> out;
    NetworkBlock open;
    size_t first = 0;
    std::set<ValueId> alive; ///< that depend on products and are read later
    for (size_t at = 0; at < order_.size(); ++at) {
      const Node& node = graph_.node(order_[at]);
      if (products_.contains(node.id)) {
        if (out.empty() && open.products.empty()) first = at; // what is before them learns nothing
        open.products.push_back(node.id);
      }
      for (const ValueId v : node.outputs)
        if (carried(v) && last_read(v) > at) alive.insert(v);
      std::erase_if(alive, [&](ValueId v) { return last_read(v) <= at; });
      const bool cut =
          alive.size() == 1 && is_f32(*alive.begin()) && made_at_[index(*alive.begin())] > first;
      if (!cut || open.products.size() < least || !products_left(at)) continue;
      open.outputs = {*alive.begin()};
      close(open, first, out);
      first = at + 1;
    }
    if (open.products.empty()) return out;
    for (const ValueId v : graph_.outputs())
      if (carried(v) && is_f32(v)) open.outputs.push_back(v);
    if (!out.empty() && open.products.size() < least) { // joined with the one before
      open.products.insert(open.products.begin(), out.back().products.begin(),
                           out.back().products.end());
      first = firsts_.back();
      out.pop_back();
    }
    if (!open.outputs.empty()) close(open, first, out);
    return out;
  }

 private:
  static size_t index(ValueId v) { return static_cast<size_t>(v.index); }
  bool carried(ValueId v) const { return v.valid() && carried_[index(v)]; }
  size_t last_read(ValueId v) const { return last_read_[index(v)]; }
  bool is_f32(ValueId v) const { return graph_.value(v).type.type == DType::kFloat32; }
  bool products_left(size_t at) const { return last_product_ > at; }

  void follow() {
    const auto bound = static_cast<size_t>(graph_.value_bound());
    carried_.assign(bound, false);
    last_read_.assign(bound, 0);
    made_at_.assign(bound, 0);
    for (size_t at = 0; at < order_.size(); ++at) {
      const Node& node = graph_.node(order_[at]);
      bool depends = products_.contains(node.id);
      if (depends) last_product_ = at;
      const auto read = [&](ValueId v) {
        if (!v.valid()) return;
        depends = depends || carried_[index(v)];
        last_read_[index(v)] = at;
      };
      std::for_each(node.inputs.begin(), node.inputs.end(), read);
      std::for_each(node.captures.begin(), node.captures.end(), read);
      for (const ValueId v : node.outputs) {
        if (!v.valid()) continue;
        carried_[index(v)] = depends;
        made_at_[index(v)] = at + 1;
      }
    }
    for (const ValueId v : graph_.outputs())
      last_read_[index(v)] = order_.size();
  }

  /// The block of the nodes from `first` on that its outputs need.
  void close(NetworkBlock& open, size_t first, std::vector<NetworkBlock>& out) {
    std::set<ValueId> seen, inputs;
    std::vector<ValueId> left = open.outputs;
    while (!left.empty()) {
      const ValueId v = left.back();
      left.pop_back();
      if (!v.valid() || !seen.insert(v).second || graph_.value(v).is_constant()) continue;
      if (made_at_[index(v)] <= first) { // before the block, or an input of the graph
        inputs.insert(v);
        continue;
      }
      const Node& node = *graph_.producer(v);
      left.insert(left.end(), node.inputs.begin(), node.inputs.end());
      left.insert(left.end(), node.captures.begin(), node.captures.end());
    }
    open.inputs.assign(inputs.begin(), inputs.end());
    out.push_back(std::move(open));
    firsts_.push_back(first);
    open = {};
  }

  const Graph& graph_;
  std::set<NodeId> products_;
  std::vector<NodeId> order_;
  std::vector<bool> carried_;     ///< by value: depends on a product
  std::vector<size_t> last_read_; ///< by value: the last node in order; behind all for outputs
  std::vector<size_t> made_at_;   ///< by value: the node in order, and 1; 0: no node makes it
  std::vector<size_t> firsts_;    ///< of the blocks found, the first node
  size_t last_product_ = 0;
};

} // namespace

Result<std::vector<NetworkBlock>>
network_blocks(const Graph& graph, std::span<const NodeId> products, size_t least) {
  return BlockFinder(graph, products).run(least);
}

Result<Graph> part_between(const Graph& graph,
                           std::span<const ValueId> inputs,
                           std::span<const ValueId> outputs) {
  Graph out = graph;
  out.set_outputs({outputs.begin(), outputs.end()});
  std::vector<ValueId> given;
  for (const ValueId v : inputs) {
    if (out.value(v).kind == ValueKind::kInput) {
      given.push_back(v);
      continue;
    }
    const ValueId from =
        out.add_input(out.unique_name(out.value(v).name + "_given"), out.value(v).type);
    out.replace_uses(v, from);
    given.push_back(from);
  }
  out.remove_dead();
  out.set_inputs(std::move(given));
  OCTET_TRY(infer_types(out));
  return out;
}

} // namespace octet
