// SPDX-License-Identifier: Apache-2.0
// Evaluations of classifiers side by side: as tables, and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/evaluate.h"

namespace octet::cli {

struct EvaluationTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string_view legend;
};
/// Accuracy, size and speed.
EvaluationTable scores_table(const std::vector<Evaluation>& results);
/// F1, Matthews' correlation, and each model against the first.
EvaluationTable classes_table(const std::vector<Evaluation>& results);

void print_json(const std::vector<Evaluation>& results);
void print_table(const std::vector<Evaluation>& results, const Dataset& data);

} // namespace octet::cli
