// SPDX-License-Identifier: Apache-2.0
//   octet.native.QDynamicGemm   =>   DynamicQuantizeLinear ─▶ MatMulInteger ─▶ Cast ─▶ Mul [─▶ Add]
// Not exact: one range for the tensor instead of one for each row.
#include "passes/standardize/decompose_dynamic_gemm.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> dynamic_gemm(const RepairContext& context, const Node& node) {
  if (!node.input(0).valid()) return std::nullopt;
  auto patch = decompose_dynamic_gemm(context.graph, node, context.uses.of(node.input(0)));
  if (!patch) return std::nullopt;
  return Repair{std::move(*patch), std::nullopt};
}

} // namespace octet
