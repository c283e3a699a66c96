// SPDX-License-Identifier: Apache-2.0
// Evaluations of classifiers side by side: as tables, and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/evaluate.h"
#include <nlohmann/json_fwd.hpp>

namespace octet::cli {

struct EvaluationTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string legend;
};
/// As lines of text, the legend below.
std::string table_text(const EvaluationTable& part);
/// Accuracy, size and speed.
EvaluationTable scores_table(const std::vector<Evaluation>& results);
/// F1 and Matthews' correlation.
EvaluationTable classes_table(const std::vector<Evaluation>& results);
/// Each model against the first.
EvaluationTable pairs_table(const std::vector<Evaluation>& results);

/// A paired test with the first model: as JSON, and as the last columns of a row.
nlohmann::ordered_json paired_json(const PairedTest& test);
std::vector<std::string> paired_header();
std::vector<std::string> paired_cells(const PairedTest& test);
constexpr std::string_view kPairedLegend =
    "difference: points of accuracy to the first model; p: chance of such a difference between "
    "models as good as each other (McNemar)";
/// `81.91 .. 86.42`, of shares.
std::string percent_range(const std::pair<double, double>& interval);

void print_json(const std::vector<Evaluation>& results);
void print_table(const std::vector<Evaluation>& results, const Dataset& data);

} // namespace octet::cli
