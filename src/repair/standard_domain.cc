// SPDX-License-Identifier: Apache-2.0
//   com.microsoft.QuantizeLinear, com.microsoft.DequantizeLinear  =>  those of ai.onnx
#include "passes/standardize/coded_operators.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> standard_domain(const RepairContext& context, const Node& node) {
  auto patch = standard_qdq(context.graph, node);
  return patch ? std::optional(Repair::exact(std::move(*patch))) : std::nullopt;
}

} // namespace octet
