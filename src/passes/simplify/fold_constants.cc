// SPDX-License-Identifier: Apache-2.0
//   constants ─▶ op ─▶ y        =>      constant y
// Exact: the reference evaluates it. Not folded: QuantizeLinear and DequantizeLinear (they say what
// is stored in 8 bits), operators with subgraphs or random numbers, graph outputs, and results
// larger than both the byte budget and the constants that they come from; fold_weights takes those
// that products read as their weights, of any size.
#include <algorithm>
#include <limits>

#include "ops/evaluate.h"
#include "ops/op.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

int64_t size_bytes(const Tensor& tensor) {
  return static_cast<int64_t>(tensor.bytes().size());
}

/// What inference knows of the output sizes, before anything is evaluated; 0 where it knows none.
int64_t expected_bytes(const Graph& graph, const Node& node) {
  int64_t sum = 0;
  for (const ValueId out : node.outputs) {
    if (!out.valid()) continue;
    const auto shape = graph.value(out).type.static_shape();
    if (!shape) continue;
    const Result<int64_t> count = element_count(*shape);
    sum += count.ok() ? bytes_for(graph.value(out).type.type, *count) : kFoldBudgetBytes + 1;
  }
  return sum;
}

/// Where the result may be as large as what it is made from, or as large as it is.
enum class Growth { kToSource, kToBudget, kAny };

std::optional<Patch> fold(const RuleContext& context, const Node& node, Growth growth) {
  const Graph& graph = context.graph;
  if (node.inputs.empty() || node.is("QuantizeLinear") || node.is("DequantizeLinear"))
    return std::nullopt;
  int64_t budget = 0;
  for (const ValueId id : node.inputs) {
    if (!id.valid()) continue;
    const Tensor* constant = graph.constant(id);
    if (constant == nullptr) return std::nullopt;
    budget += size_bytes(*constant);
  }
  budget = growth == Growth::kAny        ? std::numeric_limits<int64_t>::max()
           : growth == Growth::kToBudget ? kFoldBudgetBytes
                                         : std::max(budget, kFoldBudgetBytes);
  for (const ValueId id : node.outputs)
    if (id.valid() && graph.is_output(id)) return std::nullopt;
  if (expected_bytes(graph, node) > budget) return std::nullopt;
  const auto results = evaluate_constant(graph, node);
  if (!results) return std::nullopt;
  int64_t total = 0;
  for (const Tensor& result : *results)
    total += size_bytes(result);
  if (total > budget) return std::nullopt;
  Patch patch(graph, "all inputs are constant", Exactness::kExact);
  patch.from(node);
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    if ((*results)[k].empty()) return std::nullopt;
    patch.replace(node.outputs[k],
                  patch.constant(graph.value(node.outputs[k]).name, (*results)[k]));
  }
  return patch;
}

} // namespace

std::optional<Patch> fold_constants(const RuleContext& context, const Node& node) {
  return fold(context, node, Growth::kToSource);
}

std::optional<Patch> fold_small_constants(const RuleContext& context, const Node& node) {
  return fold(context, node, Growth::kToBudget);
}

/// Whether products read the value, all as their weights.
static bool is_of_products(const RuleContext& context, ValueId value) {
  const auto uses = context.uses.of(value);
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Uses::Use& use) {
    const Node& reader = context.graph.node(use.node);
    const OpDef* op = find_op(reader.domain, reader.op_type);
    return op != nullptr && facts_of(reader).products &&
           op->roles.fn(reader, use.input) == Role::kWeight;
  });
}

std::optional<Patch> fold_weights(const RuleContext& context, const Node& node) {
  if (node.outputs.size() != 1 || !is_of_products(context, node.outputs[0])) return std::nullopt;
  return fold(context, node, Growth::kAny);
}

} // namespace octet
