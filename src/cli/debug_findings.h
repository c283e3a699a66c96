// SPDX-License-Identifier: Apache-2.0
// What octet debug prints of two models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quant/see/findings.h"

namespace octet::cli {

/// What --apply did.
struct AppliedChanges {
  std::vector<TriedRemedy> changes;
  std::string file;                   ///< that was written; empty: none
  std::string why;                    ///< no file was
  double before_db = 0, after_db = 0; ///< outputs on the data
  std::optional<double> accuracy;
};

void print_findings(const Findings& findings, const AppliedChanges& applied);
void print_findings_json(const Findings& findings, const AppliedChanges& applied);

} // namespace octet::cli
