// SPDX-License-Identifier: Apache-2.0
// octet fp8 pass-rates: how many of some small networks keep their accuracy in 8-bit formats.
// Source of the experiment: Shen et al., arXiv:2309.14592, table 2.
#include <algorithm>

#include "cli/fp8_networks.h"
#include "cli/options.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "report/line_chart.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

/// A network passes that loses at most so much of its accuracy.
constexpr double kPasses = 0.01;
/// What loses more is drawn here.
constexpr double kChartTop = 10;

struct NetworkRow {
  SmallNetwork what;
  double accuracy = 0;
  std::vector<double> in_format; ///< accuracy in each of the formats
  double loss(size_t format) const { return (accuracy - in_format[format]) / accuracy; }
};

class PassRates final : public Command {
 public:
  std::string_view name() const override { return "fp8 pass-rates"; }
  std::string_view summary() const override {
    return "train small networks and count those that keep their accuracy in 8-bit formats";
  }
  std::string_view example() const override {
    return "octet fp8 pass-rates --images fashion-mnist:DIR -o fp8/";
  }

  void define(CLI::App& app) override {
    flags_.define(app);
    add_list_option(app, "--networks", patterns_, "of those only, by name (* and ?)", ',');
  }

  Result<Answer> run(const Common& common) override {
    const std::vector<SmallNetwork> networks = OCTET_TRY(networks_named(patterns_));
    OCTET_TRY(flags_.check({"pass-rates.json", "pass-rates.svg"}, common));
    std::vector<StudyFormat> formats = study_formats();
    struct WithStep {
      std::string_view format, step, name;
    };
    for (const WithStep& with : {WithStep{"int8", "correct-bias", "bias"},
                                 {"E4M3", "correct-bias", "bias"},
                                 {"int8", "reestimate-bn", "bn"},
                                 {"E5M2", "reestimate-bn", "bn"},
                                 {"E4M3", "reestimate-bn", "bn"}}) {
      const auto plain = std::find_if(formats.begin(), formats.end(), [&](const StudyFormat& f) {
        return f.name.starts_with(with.format);
      });
      StudyFormat format = *plain;
      format.name = fmt::format("{} + {}", with.format, with.name);
      format.steps = {std::string(with.step)};
      formats.push_back(std::move(format));
    }
    std::vector<NetworkRow> rows;
    for (const SmallNetwork& what : networks) {
      const StudyNetwork network = OCTET_TRY(flags_.network(what, common));
      NetworkRow row{what, network.accuracy, {}};
      for (const StudyFormat& format : formats)
        row.in_format.push_back(OCTET_TRY_WITH(
            flags_.accuracy(network, network.graph, format, common), std::string(what.name)));
      rows.push_back(std::move(row));
    }
    const Overwrite overwrite = common.force ? Overwrite::kYes : Overwrite::kNo;
    const std::string json = json_text(as_json(rows, formats));
    OCTET_TRY(write_file(flags_.path("pass-rates.json"), json + "\n", overwrite));
    OCTET_TRY(write_file(flags_.path("pass-rates.svg"), svg_of(chart(rows, formats)), overwrite));
    if (common.json)
      fmt::print("{}\n", json);
    else
      print_tables(rows, formats);
    return Answer::kDone;
  }

 private:
  /// The share of the networks of a family (empty: all) that pass; below 0: there are none.
  static double
  pass_rate(const std::vector<NetworkRow>& rows, size_t format, std::string_view family) {
    int64_t passed = 0, all = 0;
    for (const NetworkRow& row : rows) {
      if (!family.empty() && row.what.family != family) continue;
      ++all;
      passed += row.loss(format) <= kPasses ? 1 : 0;
    }
    return all == 0 ? -1 : static_cast<double>(passed) / static_cast<double>(all);
  }

  static constexpr std::string_view kFamilies[] = {"mlp", "cnn", "bert", ""};

  static nlohmann::ordered_json as_json(const std::vector<NetworkRow>& rows,
                                        const std::vector<StudyFormat>& formats) {
    nlohmann::ordered_json out;
    for (const NetworkRow& row : rows) {
      nlohmann::ordered_json network = {{"network", std::string(row.what.name)},
                                        {"family", std::string(row.what.family)},
                                        {"batch_norm", row.what.batch_norm},
                                        {"accuracy_float", row.accuracy}};
      for (size_t f = 0; f < formats.size(); ++f)
        network["formats"].push_back({{"format", formats[f].name},
                                      {"accuracy", row.in_format[f]},
                                      {"relative_loss", row.loss(f)},
                                      {"passes", row.loss(f) <= kPasses}});
      out["networks"].push_back(std::move(network));
    }
    for (size_t f = 0; f < formats.size(); ++f) {
      nlohmann::ordered_json rates = {{"format", formats[f].name}};
      for (const std::string_view family : kFamilies)
        if (const double rate = pass_rate(rows, f, family); rate >= 0)
          rates[family.empty() ? "all" : std::string(family)] = rate;
      out["pass_rates"].push_back(std::move(rates));
    }
    return out;
  }

  /// The losses of each format from the smallest to the largest.
  static LineChart chart(const std::vector<NetworkRow>& rows,
                         const std::vector<StudyFormat>& formats) {
    LineChart out{.title = "What networks lose in 8-bit formats",
                  .x_label = "networks, those that lose least first",
                  .y_label = "relative loss of accuracy, per cent"};
    for (size_t i = 1; i <= rows.size(); ++i)
      out.ticks.push_back(fmt::format("{}", i));
    for (size_t f = 0; f < formats.size(); ++f) {
      LineChart::Line line{formats[f].name, {}};
      for (const NetworkRow& row : rows)
        line.values.push_back(std::min(100 * row.loss(f), kChartTop));
      std::sort(line.values.begin(), line.values.end());
      out.lines.push_back(std::move(line));
    }
    return out;
  }

  static void print_tables(const std::vector<NetworkRow>& rows,
                           const std::vector<StudyFormat>& formats) {
    std::vector<std::string> header = {"accuracy %", "float"};
    for (const StudyFormat& format : formats)
      header.push_back(format.name);
    Table table(header);
    for (const NetworkRow& row : rows) {
      std::vector<std::string> cells = {std::string(row.what.name),
                                        fmt::format("{:.2f}", 100 * row.accuracy)};
      for (const double accuracy : row.in_format)
        cells.push_back(fmt::format("{:.2f}", 100 * accuracy));
      table.add(std::move(cells));
    }
    fmt::print("{}\n", table.text());
    header.front() = "lose at most 1 %, of 100";
    header.erase(header.begin() + 1);
    Table rates(std::move(header));
    for (const std::string_view family : kFamilies) {
      if (pass_rate(rows, 0, family) < 0) continue;
      std::vector<std::string> cells = {family.empty() ? "all" : std::string(family)};
      for (size_t f = 0; f < formats.size(); ++f)
        cells.push_back(fmt::format("{:.0f}", 100 * pass_rate(rows, f, family)));
      rates.add(std::move(cells));
    }
    fmt::print("{}", rates.text());
  }

  StudyFlags flags_;
  std::vector<std::string> patterns_;
};

} // namespace

Command& fp8_pass_rates_command() {
  static PassRates command;
  return command;
}

} // namespace octet::cli
