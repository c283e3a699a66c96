// SPDX-License-Identifier: Apache-2.0
// A user's own target: the rules of a known one, with a table in TOML on top.
#pragma once

#include <string>
#include <vector>

#include "targets/checks.h"

namespace octet {

struct CustomTarget {
  std::string path;                          ///< the file, and the name under which plans keep it
  std::string name;                          ///< what messages call it
  std::vector<std::string> allowed, refused; ///< operators; `allowed` empty: all
  std::vector<std::string> texts;            ///< what the rules' views point into
  std::vector<PlacementRule> rules;
  Placement placement;
  TargetDef def;
};

/// Whether a target is named by a file.
bool is_target_file(std::string_view name);
/// Reads a file once; the same content gives the same target. Errors name the key, its line and the
/// nearest known one.
Result<const TargetDef*> load_target(const std::string& path);
/// What stands in the file of a target that was loaded; null for a built-in one.
const CustomTarget* custom_target(const TargetDef& target);
/// Operators and the operator set that the file does not allow.
void check_custom(const CheckContext& context, const CustomTarget& custom, const Node& node);

} // namespace octet
