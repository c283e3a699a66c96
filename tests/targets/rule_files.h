// SPDX-License-Identifier: Apache-2.0
// Files that break rules of check which no file of bad_files.h breaks: what ONNX itself forbids or
// leaves open, what one version or family alone minds, and what is only said.
#pragma once

#include <string>
#include <vector>

#include "octet/graph.h"
#include "octet/target.h"

namespace octet::test {

struct RuleFile {
  const char* rule;
  Severity severity;
  const char* target;
  int opset;
  const char* body;           ///< from x: f32[2, 4] to y, as in a BadFile
  bool mended = true;         ///< by repair, where octet has a mend for the rule
  int ir_version = 0;         ///< 0: as parsed
  const char* toml = nullptr; ///< of a target of the user's own, which `target` names; null: none
};

std::vector<RuleFile> rule_files();
/// Its name, or the path of a file that is written for it.
std::string target_of(const RuleFile& file);
Graph parse_rule_file(const RuleFile& file);

} // namespace octet::test
