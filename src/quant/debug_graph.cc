// SPDX-License-Identifier: Apache-2.0
#include "quant/debug_graph.h"

#include "core/format.h"
#include "ops/op.h"
#include "ops/seed.h"
#include "passes/lower/lower.h"

namespace octet {

Result<std::unique_ptr<Executor>> make_lowered(const Graph& graph, const ExecutorFactory& make) {
  if (make) return make(graph);
  const Lowered result = OCTET_TRY(lower(graph));
  return make_reference_executor(result.graph);
}

Result<std::vector<Tensor>>
evaluate_node(const Graph& graph, const Node& node, std::vector<Tensor> inputs) {
  const OpDef* op = find_op(node.domain, node.op_type);
  if (op == nullptr) return error(ErrorCode::kUnsupported, "octet cannot run it");
  return op->eval.fn({.node = node,
                      .version = graph.opset(node.domain),
                      .inputs = std::move(inputs),
                      .run_body = {},
                      .seed = random_seed(graph, node)});
}

} // namespace octet
