// SPDX-License-Identifier: Apache-2.0
// octet formats: what small formats lose of numbers from known distributions, without a network.
#include <array>

#include "cli/command.h"
#include "cli/outputs.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include "report/line_chart.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/format_noise.h"

namespace octet::cli {
namespace {

/// Degrees of freedom of the figure, from large outliers to hardly any.
constexpr std::array<double, 9> kDegrees = {2, 3, 4, 5, 6, 8, 12, 20, 50};

class Formats final : public Command {
 public:
  std::string_view name() const override { return "formats"; }
  std::string_view summary() const override {
    return "what 8-bit and smaller formats lose of numbers from a distribution, at their best "
           "scale";
  }
  std::string_view example() const override {
    return "octet formats int8 E2M5 E3M4 E4M3 E5M2 --figure formats.svg";
  }

  void define(CLI::App& app) override {
    app.add_option("formats", formats_,
                   "int2 to int8, small floats by name (E4M3FN), or ExMy with finite codes alone")
        ->capture_default_str();
    app.add_option("--distribution", distributions_,
                   "uniform, gaussian[:reach], student-t[:degrees[:reach]]")
        ->capture_default_str();
    app.add_option("--figure", figure_,
                   "SVG file: signal to noise over the degrees of freedom of Student's t");
  }

  Result<Answer> run(const Common& common) override {
    if (!figure_.empty()) OCTET_TRY(check_output(figure_, {}, common));
    std::vector<Distribution> distributions;
    for (const std::string& text : distributions_)
      distributions.push_back(OCTET_TRY(parse_distribution(text)));
    const Rows rows = OCTET_TRY(compute(distributions));
    if (!figure_.empty()) OCTET_TRY(draw(common));
    common.json ? print_json(distributions, rows) : print_table(distributions, rows);
    return Answer::kDone;
  }

 private:
  /// Of each distribution, of each format.
  using Rows = std::vector<std::vector<FormatNoise>>;

  Result<Rows> compute(const std::vector<Distribution>& distributions) const {
    Rows rows;
    for (const Distribution& distribution : distributions) {
      rows.emplace_back();
      for (const std::string& format : formats_)
        rows.back().push_back(OCTET_TRY(best_format_noise(format, distribution)));
    }
    return rows;
  }

  Status draw(const Common& common) const {
    std::vector<Distribution> along;
    LineChart chart{.title = "What formats keep of numbers with outliers",
                    .x_label = "degrees of freedom of Student's t (fewer: larger outliers)",
                    .y_label = "signal to quantization noise, dB"};
    for (const double degrees : kDegrees) {
      along.emplace_back(StudentT{.degrees = degrees});
      chart.ticks.push_back(fmt::format("{}", degrees));
    }
    along.emplace_back(Gaussian{});
    chart.ticks.emplace_back("normal");
    for (const std::string& format : formats_)
      chart.lines.push_back({format, {}});
    for (const auto& row : OCTET_TRY(compute(along)))
      for (size_t k = 0; k < row.size(); ++k)
        chart.lines[k].values.push_back(row[k].sqnr_db);
    return write_file(figure_, svg_of(chart), common.force ? Overwrite::kYes : Overwrite::kNo);
  }

  void print_table(const std::vector<Distribution>& distributions, const Rows& rows) const {
    std::vector<std::string> header = {"dB"};
    header.insert(header.end(), formats_.begin(), formats_.end());
    Table table(std::move(header));
    for (size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::string> cells = {octet::name(distributions[i])};
      for (const FormatNoise& noise : rows[i])
        cells.push_back(fmt::format("{:.1f}", noise.sqnr_db));
      table.add(std::move(cells));
    }
    fmt::print("{}", table.text());
  }

  void print_json(const std::vector<Distribution>& distributions, const Rows& rows) const {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t k = 0; k < rows[i].size(); ++k)
        out.push_back({{"distribution", octet::name(distributions[i])},
                       {"format", formats_[k]},
                       {"sqnr_db", rows[i][k].sqnr_db},
                       {"scale", rows[i][k].scale}});
    }
    fmt::print("{}\n", json_text(out));
  }

  std::vector<std::string> formats_ = {"int8", "E2M5", "E3M4", "E4M3", "E5M2"};
  std::vector<std::string> distributions_ = {"uniform", "gaussian", "student-t"};
  std::string figure_;
};

} // namespace

Command& formats_command() {
  static Formats command;
  return command;
}

} // namespace octet::cli
