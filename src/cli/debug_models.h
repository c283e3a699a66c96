// SPDX-License-Identifier: Apache-2.0
// octet debug with two models: where the quantized one loses accuracy, and what would help.
#pragma once

#include <string>

#include "cli/command.h"

namespace octet::cli {

struct DebugModels {
  std::string float_model, quantized_model, data;
  std::string plan, target; ///< empty: found out
  std::string output, save_plan, report;
  bool apply = false;
  int64_t max_length = 0, batch = 64;
  int64_t limit = 0;     ///< examples, 0: 64
  int64_t remedies = 5;  ///< layers that changes are tried for
  int64_t samples = 256; ///< of the training part that ranges and steps are taken from
};

/// kNo: with `apply`, nothing helped and no file was written.
Result<Answer> debug_models(const DebugModels& options, const Common& common);

} // namespace octet::cli
