// SPDX-License-Identifier: Apache-2.0
// What tests ask of the findings of check.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "octet/target.h"

namespace octet::test {

inline bool has_rule(const std::vector<Finding>& findings, std::string_view rule) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return f.rule == rule; });
}

} // namespace octet::test
