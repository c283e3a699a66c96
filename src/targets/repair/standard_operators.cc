// SPDX-License-Identifier: Apache-2.0
//   operators of com.microsoft that ONNX Runtime's optimizer writes   =>   operators of ai.onnx
// The rules of octet simplify --standard-operators, where the parser does not import the operator.
// QAttention becomes products behind DQ, QOrdered operators stand between DQ and Q. Rounding.
// Source: docs/targets.md 1.3, 9.
#include "passes/standard_operators.h"

#include "targets/repair/rules.h"
#include "targets/tensorrt_operators.h"

namespace octet {

std::optional<Repair> standard_operators(const RepairContext& context, const Node& node) {
  if (node.domain != kMicrosoft || tensorrt_imports(node.op_type, context.target.version))
    return std::nullopt;
  const LiveUses uses(context.graph);
  const KnownElements elements;
  for (const Rule& rule : standard_operator_rules())
    if (auto patch = rule.apply({context.graph, uses, elements}, node))
      return Repair{std::move(*patch), std::nullopt};
  return std::nullopt;
}

} // namespace octet
