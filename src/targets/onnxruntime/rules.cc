// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

constexpr const TargetRule* kRuleList[] = {
#define RULE(rule) &rule,
#include "targets/onnxruntime/rules.def"
#undef RULE
};

} // namespace

} // namespace octet::onnxruntime

octet::RuleList octet::onnxruntime_rules() {
  return onnxruntime::kRuleList;
}
