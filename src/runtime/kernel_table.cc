// SPDX-License-Identifier: Apache-2.0
// The table: operator -> candidates, best first.
#include <array>

#include "ops/op.h"
#include "runtime/step.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr std::string_view kNative = "octet.native";

constexpr KernelRow kTable[] = {
    {kNative, "QGemm", prepare_qgemm},
};

constexpr std::array<std::string_view, 5> kViews = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                    "Identity"};

} // namespace

std::span<const KernelRow> kernel_table() {
  return kTable;
}

bool is_view(const Node& node) {
  if (!node.domain.empty()) return false;
  for (const std::string_view view : kViews)
    if (node.op_type == view) return true;
  return false;
}

Choice choose(const PrepareContext& context) {
  std::string reasons;
  for (const KernelRow& row : kTable) {
    if (row.domain != context.node.domain || row.op != context.node.op_type) continue;
    Choice choice = row.prepare(context);
    if (choice.prepared) return choice;
    reasons += (reasons.empty() ? "" : "; ") + choice.reason;
  }
  if (!find_op(context.node.domain, context.node.op_type))
    return Choice::refuse("octet cannot run this operator");
  if (reasons.empty()) reasons = "the operator has no kernel";
  return {prepare_reference(context), "reference", reasons};
}

} // namespace octet::runtime
