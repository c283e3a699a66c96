// SPDX-License-Identifier: Apache-2.0
// What octet itself cannot run, or runs to no use.
#include "core/format.h"
#include "ops/op.h"
#include "passes/standardize/standard_operators.h"
#include "targets/shared_rules.h"

namespace octet::own {

namespace {

void find_unknown_operator(const CheckContext& context, const Node& node, Found& found) {
  if (find_op(node.domain, node.op_type) != nullptr) return;
  if (decompose_standard(context.graph, context.uses, node)) return; // as lowering does
  found.add(node,
            fmt::format("octet has no definition of {} (domain \"{}\")", node.op_type, node.domain),
            "replace it by standard operators");
}

constexpr TargetRule kUnknownOperator = {
    .id = "unknown-operator", .clause = "octet", .find = find_unknown_operator};
constexpr TargetRule kScaleNotPositive = {.id = "scale-not-positive",
                                          .clause = "1.1, 7",
                                          .severity = Severity::kWarning,
                                          .find = find_scale_not_positive};
constexpr TargetRule kScaleInfinite = {.id = "scale-not-normal",
                                       .clause = "1.1, 7",
                                       .severity = Severity::kWarning,
                                       .find = find_scale_infinite};

constexpr TargetRule kDeclaredType = {.id = "declared-type",
                                      .clause = "8",
                                      .severity = Severity::kWarning,
                                      .find = find_declared_type};
constexpr TargetRule kDeclaredShape = {.id = "declared-shape",
                                       .clause = "8",
                                       .severity = Severity::kWarning,
                                       .find = find_declared_shape};

constexpr const TargetRule* kRuleList[] = {&kDeclaredType,    &kDeclaredShape,
                                           &kUnknownOperator, &kScaleNotPositive,
                                           &kScaleInfinite,   &kCodesOfLaterOpset};

} // namespace

} // namespace octet::own

octet::RuleList octet::octet_rules() {
  return own::kRuleList;
}
