// SPDX-License-Identifier: Apache-2.0
// The findings of check, for people and for machines.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "octet/target.h"

namespace octet::cli {

/// What one rule finds stands together: its words once for all nodes that they are said of.
std::string text(const std::vector<Finding>& findings, const std::string& model);
/// `9 errors and 2 warnings by 3 rules`.
std::string counts(const std::vector<Finding>& findings);
nlohmann::ordered_json findings_json(const std::vector<Finding>& findings);

} // namespace octet::cli
