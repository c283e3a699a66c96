// SPDX-License-Identifier: Apache-2.0
// The reference executor: every operator's eval in topological order. Values are released after
// their last use.
#include <map>
#include <utility>

#include "core/format.h"
#include "core/pages.h"
#include "graph/label.h"
#include "graph/sizes.h"
#include "graph/verify.h"
#include "ops/op.h"
#include "ops/shared/seed.h"

#include "octet/executor.h"

namespace octet {
namespace {

using Environment = std::vector<Tensor>; // by value id

Status check_input(const Value& v, const Tensor& t) {
  if (t.empty()) return error("input \"{}\": no tensor was given", v.name);
  if (v.type.type != DType::kUndefined && t.type() != v.type.type)
    return error("input \"{}\": the model wants {} but got {}", v.name, v.type.text(),
                 name(t.type()));
  if (!v.type.shape) return ok_status();
  bool fits = v.type.rank() == t.rank();
  for (size_t i = 0; fits && i < v.type.shape->size(); ++i) {
    const Dim& d = (*v.type.shape)[i];
    fits = !d.is_constant() || d.value() == t.shape()[i];
  }
  if (!fits)
    return error("input \"{}\": the model wants {} but got shape {}", v.name, v.type.text(),
                 to_string(t.shape()));
  return ok_status();
}

class Run {
 public:
  /// `outer`: the run that a body belongs to; a body without operator sets has those of it.
  /// `lets_go`: large constants that are mapped from a file need not stay in memory.
  Run(const Graph& graph, std::span<const NodeId> order, bool lets_go, const Run* outer = nullptr)
      : graph_(graph),
        versions_(outer != nullptr && graph.opsets.empty() ? outer->versions_ : graph),
        order_(order), lets_go_(lets_go), depth_(outer != nullptr ? outer->depth_ + 1 : 0),
        values_(static_cast<size_t>(graph.value_bound())) {}

  Result<std::vector<Tensor>> operator()(std::span<const Tensor> inputs, const Environment* outer) {
    OCTET_TRY(feed(inputs, outer));
    count_uses();
    for (const ValueId id : graph_.outputs())
      ++uses_[static_cast<size_t>(id.index)];
    for (const NodeId id : order_) {
      OCTET_TRY(run_node(id));
      drop_unused(graph_.node(id));
    }
    std::vector<Tensor> out;
    for (const ValueId id : graph_.outputs())
      out.push_back(slot(id));
    return out;
  }

  /// Outputs are handed over when they are made, and kept no longer than nodes read them.
  Status stream(std::span<const Tensor> inputs, const OutputTap& tap) {
    OCTET_TRY(feed(inputs, nullptr));
    count_uses();
    std::multimap<int32_t, size_t> taps; // value -> outputs
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      taps.emplace(graph_.outputs()[i].index, i);
    const auto hand_over = [&](ValueId id) -> Status {
      const auto [first, last] = taps.equal_range(id.index);
      for (auto at = first; at != last; ++at)
        OCTET_TRY(tap(at->second, slot(id)));
      return ok_status();
    };
    for (const auto& [index, output] : taps)
      if (graph_.value(ValueId{index}).kind != ValueKind::kNodeOutput)
        OCTET_TRY(tap(output, slot(ValueId{index})));
    for (const NodeId id : order_) {
      OCTET_TRY(run_node(id));
      for (const ValueId made : graph_.node(id).outputs)
        if (made.valid()) OCTET_TRY(hand_over(made));
      drop_unused(graph_.node(id));
    }
    return ok_status();
  }

 private:
  Tensor& slot(ValueId id) { return values_[static_cast<size_t>(id.index)]; }

  /// Inputs, constants and what a body captures.
  Status feed(std::span<const Tensor> inputs, const Environment* outer) {
    if (depth_ > kMaxSubgraphDepth)
      return error("subgraphs nest deeper than {}", kMaxSubgraphDepth);
    if (inputs.size() != graph_.inputs().size())
      return error("the graph has {} inputs but got {}", graph_.inputs().size(), inputs.size());
    for (int32_t i = 0; i < graph_.value_bound(); ++i) {
      const Value& v = graph_.value(ValueId{i});
      if (v.is_constant()) slot(v.id) = v.constant;
      if (v.kind == ValueKind::kCapture) {
        if (!outer) return error("value \"{}\": captured, but nothing encloses it", v.name);
        slot(v.id) = (*outer)[static_cast<size_t>(v.captured.index)];
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      // What a body declares of its inputs is a hint: the operator decides what it passes.
      if (outer == nullptr) OCTET_TRY(check_input(graph_.value(graph_.inputs()[i]), inputs[i]));
      slot(graph_.inputs()[i]) = inputs[i];
    }
    return ok_status();
  }

  /// By nodes.
  void count_uses() {
    uses_.assign(values_.size(), 0);
    for (const NodeId id : order_) {
      for (const ValueId in : graph_.node(id).inputs)
        if (in.valid()) ++uses_[static_cast<size_t>(in.index)];
      for (const ValueId in : graph_.node(id).captures)
        ++uses_[static_cast<size_t>(in.index)];
    }
  }

  void release(ValueId id) {
    if (id.valid() && --uses_[static_cast<size_t>(id.index)] == 0) slot(id) = Tensor{};
  }

  /// Outputs of a node that nothing reads.
  void drop_unused(const Node& n) {
    for (const ValueId out : n.outputs)
      if (out.valid() && uses_[static_cast<size_t>(out.index)] == 0) slot(out) = Tensor{};
  }

  Status run_node(NodeId id) {
    OCTET_TRY_WITH(step(graph_.node(id)), fmt::format("node {}", label(graph_, graph_.node(id))));
    return ok_status();
  }

  Status step(const Node& n) {
    const OpDef* op = find_op(n.domain, n.op_type);
    if (!op)
      return error(ErrorCode::kUnsupported, "octet cannot run this operator (domain \"{}\")",
                   n.domain);
    EvalContext context{.node = n,
                        .version = versions_.opset(n.domain),
                        .inputs = {},
                        .run_body = {},
                        .seed = random_seed(graph_, n)};
    for (const ValueId in : n.inputs)
      context.inputs.push_back(in.valid() ? slot(in).aligned() : Tensor{});
    context.run_body = [this](const Graph& body, std::span<const Tensor> in) {
      return run_body(body, in);
    };
    std::vector<Tensor> results = OCTET_TRY(op->eval.fn(context));
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      if (!n.outputs[k].valid()) continue;
      if (k >= results.size() || results[k].empty())
        return error("gave no output {} (\"{}\")", k, graph_.value(n.outputs[k]).name);
      slot(n.outputs[k]) = std::move(results[k]);
    }
    if (lets_go_) let_go_of_constants(n);
    for (const ValueId in : n.inputs)
      release(in);
    for (const ValueId in : n.captures)
      release(in);
    return ok_status();
  }

  void let_go_of_constants(const Node& n) {
    for (const ValueId in : n.inputs) {
      if (!in.valid() || !graph_.value(in).is_constant()) continue;
      const Tensor& constant = graph_.value(in).constant;
      if (constant.bytes().size() >= kLargeTensorBytes) constant.page_out();
    }
  }

  Result<std::vector<Tensor>> run_body(const Graph& body, std::span<const Tensor> in) {
    const std::vector<NodeId> order = OCTET_TRY(body.topological());
    return Run(body, order, lets_go_, this)(in, &values_);
  }

  const Graph& graph_;
  const Graph& versions_; ///< whose operator sets count
  std::span<const NodeId> order_;
  bool lets_go_;
  int depth_;
  Environment values_;
  std::vector<int> uses_;
};

class ReferenceExecutor final : public Executor {
 public:
  ReferenceExecutor(Graph graph, std::vector<NodeId> order)
      : graph_(std::move(graph)), order_(std::move(order)) {}
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    return Run(graph_, order_, lets_go_)(inputs, nullptr);
  }
  Status stream(std::span<const Tensor> inputs, const OutputTap& tap) override {
    return Run(graph_, order_, lets_go_).stream(inputs, tap);
  }

 private:
  Graph graph_;
  std::vector<NodeId> order_;
  bool lets_go_ = constant_bytes(graph_) > kLargeConstantBytes;
};

} // namespace

Status Executor::stream_stored(std::span<const Tensor> inputs, const StoredTap& tap) {
  return stream(inputs, [&](size_t output, const Tensor& value) { return tap(output, value, {}); });
}

Status Executor::stream(std::span<const Tensor> inputs, const OutputTap& tap) {
  std::vector<Tensor> outputs = OCTET_TRY(run(inputs));
  for (size_t i = 0; i < outputs.size(); ++i)
    OCTET_TRY(tap(i, std::exchange(outputs[i], Tensor{})));
  return ok_status();
}

Result<std::unique_ptr<Executor>> make_reference_executor(const Graph& graph) {
  OCTET_TRY(verify(graph));
  std::vector<NodeId> order = OCTET_TRY(graph.topological());
  return std::unique_ptr<Executor>(std::make_unique<ReferenceExecutor>(graph, std::move(order)));
}

} // namespace octet
