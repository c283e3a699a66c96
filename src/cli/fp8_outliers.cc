// SPDX-License-Identifier: Apache-2.0
// octet fp8 outliers: accuracy of one BERT whose activations have larger and larger outlier
// channels, in 8-bit formats. Source of the experiment: Micikevicius et al., arXiv:2209.05433.
#include <cmath>

#include "cli/fp8_networks.h"
#include "cli/options.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include "models/outliers.h"
#include "report/line_chart.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

constexpr std::string_view kOutlierNetwork = "bert-majority-relu";
constexpr int kMostDoublings = 10;

class Outliers final : public Command {
 public:
  std::string_view name() const override { return "fp8 outliers"; }
  std::string_view summary() const override {
    return "what outlier channels of activations cost in 8-bit formats";
  }
  std::string_view example() const override { return "octet fp8 outliers --channels 4 -o fp8/"; }

  void define(CLI::App& app) override {
    flags_.define(app);
    add_count_option(app, "--channels", channels_, "that are outliers, of each activation", {1, 64})
        ->capture_default_str();
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(flags_.check({"outliers.json", "outliers.svg"}, common));
    const StudyNetwork network = OCTET_TRY(flags_.network(the_network(), common));
    const std::vector<StudyFormat> formats = study_formats();
    LineChart chart{.title = "Accuracy with outlier channels",
                    .x_label = fmt::format("factor of {} outlier channels", channels_),
                    .y_label = "accuracy, per cent"};
    for (const StudyFormat& format : formats)
      chart.lines.push_back({format.name, {}});
    nlohmann::ordered_json out = {{"network", std::string(kOutlierNetwork)},
                                  {"channels", channels_},
                                  {"accuracy_float", network.accuracy}};
    for (int doublings = 0; doublings <= kMostDoublings; doublings += 2) {
      const double factor = std::ldexp(1.0, doublings);
      const Graph graph =
          OCTET_TRY(with_outlier_channels(network.graph, channels_, static_cast<float>(factor)));
      chart.ticks.push_back(fmt::format("{}", factor));
      nlohmann::ordered_json row = {{"factor", factor}};
      for (size_t f = 0; f < formats.size(); ++f) {
        const double accuracy = OCTET_TRY(flags_.accuracy(network, graph, formats[f], common));
        chart.lines[f].values.push_back(100 * accuracy);
        row["formats"].push_back({{"format", formats[f].name}, {"accuracy", accuracy}});
      }
      out["factors"].push_back(std::move(row));
    }
    const Overwrite overwrite = common.force ? Overwrite::kYes : Overwrite::kNo;
    OCTET_TRY(write_file(flags_.path("outliers.json"), json_text(out) + "\n", overwrite));
    OCTET_TRY(write_file(flags_.path("outliers.svg"), svg_of(chart), overwrite));
    if (common.json)
      fmt::print("{}\n", json_text(out));
    else
      print_table(network, chart);
    return Answer::kDone;
  }

 private:
  static const SmallNetwork& the_network() {
    for (const SmallNetwork& what : small_networks())
      if (what.name == kOutlierNetwork) return what;
    return small_networks().front();
  }

  static void print_table(const StudyNetwork& network, const LineChart& chart) {
    std::vector<std::string> header = {"factor", "float"};
    for (const LineChart::Line& line : chart.lines)
      header.push_back(line.label);
    Table table(std::move(header));
    for (size_t i = 0; i < chart.ticks.size(); ++i) {
      std::vector<std::string> cells = {chart.ticks[i],
                                        fmt::format("{:.2f}", 100 * network.accuracy)};
      for (const LineChart::Line& line : chart.lines)
        cells.push_back(fmt::format("{:.2f}", line.values[i]));
      table.add(std::move(cells));
    }
    fmt::print("{}", table.text());
  }

  StudyFlags flags_;
  int64_t channels_ = 4;
};

} // namespace

Command& fp8_outliers_command() {
  static Outliers command;
  return command;
}

} // namespace octet::cli
