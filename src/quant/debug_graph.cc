// SPDX-License-Identifier: Apache-2.0
#include "quant/debug_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/op.h"
#include "ops/shared/seed.h"
#include "passes/lower/lower.h"

namespace octet {

Result<std::unique_ptr<Executor>> make_lowered(const Graph& graph, const ExecutorFactory& make) {
  if (make) return make(graph);
  const Lowered result = OCTET_TRY(lower(graph));
  return make_reference_executor(result.graph);
}

namespace {

/// Bodies run as the reference runs them: in a graph that is cut down to their node. Ids stay, so
/// that captures stay valid.
Result<std::vector<Tensor>> evaluate_with_bodies(const Graph& graph,
                                                 const Node& node,
                                                 std::span<const Tensor> inputs,
                                                 std::span<const Tensor> captures) {
  Graph alone = graph;
  for (const NodeId other : graph.nodes())
    if (other != node.id) alone.remove_node(other);
  std::vector<ValueId> ids;
  std::vector<Tensor> given;
  const auto feed = [&](ValueId id, const Tensor& value) {
    if (!id.valid() || std::find(ids.begin(), ids.end(), id) != ids.end()) return;
    ids.push_back(id);
    given.push_back(value);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    feed(node.inputs[i], inputs[i]);
  for (size_t i = 0; i < node.captures.size(); ++i)
    feed(node.captures[i], captures[i]);
  std::vector<ValueId> made;
  std::copy_if(node.outputs.begin(), node.outputs.end(), std::back_inserter(made),
               [](ValueId id) { return id.valid(); });
  alone.set_inputs(std::move(ids));
  alone.set_outputs(std::move(made));
  const std::unique_ptr<Executor> executor = OCTET_TRY(make_reference_executor(alone));
  std::vector<Tensor> results = OCTET_TRY(executor->run(given)), out(node.outputs.size());
  size_t next = 0;
  for (size_t k = 0; k < out.size(); ++k)
    if (node.outputs[k].valid()) out[k] = std::move(results[next++]);
  return out;
}

} // namespace

Result<std::vector<Tensor>> evaluate_node(const Graph& graph,
                                          const Node& node,
                                          std::vector<Tensor> inputs,
                                          std::span<const Tensor> captures) {
  const OpDef* op = find_op(node.domain, node.op_type);
  if (op == nullptr) return error(ErrorCode::kUnsupported, "octet cannot run it");
  if (has_bodies(node)) return evaluate_with_bodies(graph, node, inputs, captures);
  return op->eval.fn({.node = node,
                      .version = graph.opset(node.domain),
                      .inputs = std::move(inputs),
                      .run_body = {},
                      .seed = random_seed(graph, node)});
}

namespace {

/// Appends nodes, those that follow from constants not before one that reads them.
class LateConstants {
 public:
  explicit LateConstants(const Graph& graph)
      : graph_(graph), states_(static_cast<size_t>(graph.node_bound()), State::kVaries) {}

  void add(NodeId id) {
    const Node& node = graph_.node(id);
    const bool constant = !node.inputs.empty() && node.captures.empty() &&
                          std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
                            return !in.valid() || graph_.value(in).is_constant() ||
                                   state_of_maker(in) != State::kVaries;
                          });
    if (constant) state(id) = State::kWaits;
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId out) { return graph_.is_output(out); });
    if (!constant || wanted) append(id);
  }
  std::vector<NodeId> take() { return std::move(order_); }

 private:
  enum class State : uint8_t { kVaries, kWaits, kAppended };
  State& state(NodeId id) { return states_[static_cast<size_t>(id.index)]; }
  State state_of_maker(ValueId value) {
    const Node* maker = graph_.producer(value);
    return maker == nullptr ? State::kVaries : state(maker->id);
  }
  void append(NodeId id) {
    if (state(id) == State::kWaits) state(id) = State::kAppended;
    const Node& node = graph_.node(id);
    for (const std::vector<ValueId>* read : {&node.inputs, &node.captures})
      for (const ValueId in : *read)
        if (in.valid() && state_of_maker(in) == State::kWaits) append(graph_.producer(in)->id);
    order_.push_back(id);
  }

  const Graph& graph_;
  std::vector<State> states_; ///< by node
  std::vector<NodeId> order_;
};

} // namespace

Result<std::vector<NodeId>> walking_order(const Graph& graph) {
  LateConstants late(graph);
  for (const NodeId id : OCTET_TRY(graph.topological()))
    late.add(id);
  return late.take();
}

std::vector<int> input_uses(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<int> uses(static_cast<size_t>(graph.value_bound()), 0);
  for (const NodeId id : nodes)
    for (const std::vector<ValueId>* read : {&graph.node(id).inputs, &graph.node(id).captures})
      for (const ValueId in : *read)
        if (in.valid()) ++uses[static_cast<size_t>(in.index)];
  return uses;
}

namespace {

/// One walk: how far it is and what it has not come to yet.
class Walk {
 public:
  Walk(const WalkBeside& plan, const CancelToken* cancel) : plan_(plan), cancel_(cancel) {}

  Status arrive(size_t output, const Tensor& value) {
    arrived_[output] = value.clone();
    return advance();
  }
  Status advance() {
    for (; next_ < plan_.order.size(); ++next_) {
      const Node& node = plan_.graph.node(plan_.order[next_]);
      const auto waits = plan_.waits_for.find(node.id);
      std::vector<Tensor> theirs;
      if (waits != plan_.waits_for.end()) {
        const auto& outputs = waits->second;
        if (std::any_of(outputs.begin(), outputs.end(),
                        [&](size_t output) { return !arrived_.contains(output); }))
          return ok_status();
        for (const size_t output : outputs)
          theirs.push_back(std::move(arrived_.extract(output).mapped()));
      }
      if (cancel_ != nullptr && cancel_->cancelled())
        return Error("stopped by the user", ErrorCode::kCancelled);
      OCTET_TRY_WITH(plan_.step(node, theirs),
                     fmt::format("debug: node {}", label(plan_.graph, node)));
    }
    return ok_status();
  }
  bool ended() const { return next_ == plan_.order.size(); }

 private:
  const WalkBeside& plan_;
  const CancelToken* cancel_;
  std::map<size_t, Tensor> arrived_; ///< outputs that no node has come to
  size_t next_ = 0;
};

} // namespace

Status WalkBeside::run(Executor& lowered,
                       std::span<const Tensor> inputs,
                       const CancelToken* cancel) const {
  Walk walk(*this, cancel);
  Status walked = ok_status();
  Status ran = lowered.stream(inputs, [&](size_t output, const Tensor& value) -> Status {
    walked = walk.arrive(output, value);
    return walked;
  });
  if (!walked.ok()) return walked;
  OCTET_TRY_WITH(std::move(ran), "debug: the lowered graph");
  OCTET_TRY(walk.advance());
  if (!walk.ended())
    return error(ErrorCode::kInternal, "debug: the lowered graph gave too few outputs");
  return ok_status();
}

} // namespace octet
