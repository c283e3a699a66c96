// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/rules.h"

#include "targets/shared_rules.h"

namespace octet::tensorrt {

namespace {

constexpr const TargetRule* kRuleList[] = {
#define RULE(rule) &rule,
#define SHARED(rule) &rule,
#include "targets/tensorrt/rules.def"
#undef RULE
#undef SHARED
};

} // namespace

} // namespace octet::tensorrt

octet::RuleList octet::tensorrt_rules() {
  return tensorrt::kRuleList;
}
