// SPDX-License-Identifier: Apache-2.0
// A user's own target: the rules of a known one, with a table in TOML on top.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "targets/checks.h"

namespace octet {

/// What the file itself demands of codes.
struct CodeRules {
  std::optional<DType> activation;
  bool symmetric_activations = false, symmetric_weights = false;
  bool narrow_weights = false; ///< no code -128
  bool float_weights = false;  ///< with Q and DQ, none stored
};

struct CustomTarget {
  std::string path;                          ///< the file, and the name under which plans keep it
  std::string name;                          ///< what messages call it
  std::vector<std::string> allowed, refused; ///< operators; `allowed` empty: all
  std::vector<std::string> texts;            ///< what the rules' views point into
  std::vector<PlacementRule> rules;
  CodeRules codes;
  Placement placement;
  TargetDef def;
};

/// Whether a target is named by a file.
bool is_target_file(std::string_view name);
/// Reads a file. Errors name the key, its line and the nearest known one.
Result<std::shared_ptr<const TargetDef>> load_target(const std::string& path);

} // namespace octet
