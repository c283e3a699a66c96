// SPDX-License-Identifier: Apache-2.0
//   operators of com.microsoft that ONNX Runtime's optimizer writes   =>   operators of ai.onnx
// The rules of octet simplify --standard-operators, where the parser does not import the operator;
// for ONNX Runtime on the CPU those that it has no kernel for there.
// QAttention becomes products behind DQ, QOrdered operators stand between DQ and Q. Rounding.
// Source: docs/targets.md 1.3, 9.
#include "passes/standardize/standard_operators.h"

#include "ops/op.h"
#include "repair/qoperator.h"
#include "repair/rules.h"
#include "targets/onnxruntime/releases.h"
#include "targets/tensorrt/operators.h"

namespace octet {

namespace {

bool runs(const RepairContext& context, const Node& node) {
  if (context.is_tensorrt()) return tensorrt_imports(node.op_type, context.target.version);
  return is_cuda(context.target) || !needs_cuda(node);
}

/// What a tie may cost, where a rule writes one Q.
std::optional<double> bound(const Graph& graph, const Node& node, Exactness exactness) {
  if (exactness == Exactness::kExact) return 0;
  if (node.op_type == "QuantizeWithOrder") return one_step(graph, node.input(1));
  if (node.op_type == "QOrderedGelu") return one_step(graph, node.input(2));
  if (node.op_type == "QOrderedMatMul" || node.op_type == "QOrderedLayerNormalization")
    return one_step(graph, node.input(4));
  return std::nullopt;
}

std::optional<Repair> decomposed(const RepairContext& context, const Node& node) {
  auto patch = decompose_standard(context.graph, context.uses, node);
  if (!patch) return std::nullopt;
  const auto cost = bound(context.graph, node, patch->exactness());
  return Repair{std::move(*patch), cost};
}

} // namespace

std::optional<Repair> standard_operators(const RepairContext& context, const Node& node) {
  if (node.domain != kMicrosoft || runs(context, node)) return std::nullopt;
  return decomposed(context, node);
}

std::optional<Repair> unknown_operators(const RepairContext& context, const Node& node) {
  if (find_op(node.domain, node.op_type) != nullptr) return std::nullopt;
  return decomposed(context, node);
}

} // namespace octet
