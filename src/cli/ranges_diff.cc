// SPDX-License-Identifier: Apache-2.0
// octet ranges diff: the tensors whose ranges two files do not agree on.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/range_files.h"
#include "core/json.h"
#include "core/string_util.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class RangesDiff final : public Command {
 public:
  std::string_view name() const override { return "ranges diff"; }
  std::string_view summary() const override {
    return "tensors whose ranges differ between two files; exit 1 if there are any";
  }
  std::string_view example() const override {
    return "octet ranges diff before.json after.cache --tolerance 1";
  }

  void define(CLI::App& app) override {
    app.add_option("before", before_, "JSON, a TensorRT cache, ONNX Runtime's table, or a shard")
        ->required();
    app.add_option("after", after_, "the one that is compared with it")->required();
    constexpr double kMostSteps = 1e9;
    add_number_option(app, "--tolerance", tolerance_,
                      "steps of 8-bit codes that ranges may lie apart", 0, kMostSteps)
        ->capture_default_str();
    app.add_flag("--asymmetric", asymmetric_,
                 "compare both ends, for codes with a zero point; else magnitudes");
  }

  Result<Answer> run(const Common& common) override {
    const auto before = OCTET_TRY(read_ranges_or_shard(before_)).ranges;
    const auto after = OCTET_TRY(read_ranges_or_shard(after_)).ranges;
    const auto differences = compare_ranges(before, after, !asymmetric_, tolerance_);
    if (common.json)
      print_differences_json(differences);
    else
      print_differences(differences, before.size());
    return differences.empty() ? Answer::kDone : Answer::kNo;
  }

 private:
  void print_differences(const std::vector<RangeDifference>& differences, size_t tensors) const {
    if (differences.empty()) {
      fmt::print("no range of {} differs by more than {}\n",
                 counted(static_cast<int64_t>(tensors), "tensor"), steps_text(tolerance_));
      return;
    }
    Table table({"tensor", before_, after_, "steps", "%"});
    for (const RangeDifference& d : differences) {
      const bool both = d.before && d.after;
      table.add({d.tensor, range_text(d.before), range_text(d.after),
                 both ? fmt::format("{:.2f}", d.steps) : "-",
                 both ? fmt::format("{:+.2f}", d.percent) : "-"});
    }
    fmt::print("{}", table.text());
  }

  static std::string steps_text(double steps) {
    return fmt::format("{} {}", steps, steps == 1 ? "step" : "steps");
  }

  static std::string range_text(const std::optional<Range>& range) {
    return range ? fmt::format("[{:.6g}, {:.6g}]", range->lo, range->hi) : "none";
  }

  static nlohmann::ordered_json range_json(const std::optional<Range>& range) {
    if (!range) return nullptr;
    return {range->lo, range->hi};
  }

  static void print_differences_json(const std::vector<RangeDifference>& differences) {
    auto out = nlohmann::ordered_json::array();
    for (const RangeDifference& d : differences) {
      const bool both = d.before && d.after;
      const auto number = [&](double x) {
        return both ? nlohmann::ordered_json(x) : nlohmann::ordered_json();
      };
      out.push_back({{"tensor", d.tensor},
                     {"before", range_json(d.before)},
                     {"after", range_json(d.after)},
                     {"steps", number(d.steps)},
                     {"percent", number(d.percent)}});
    }
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"differences", std::move(out)}}));
  }

  std::string before_, after_;
  double tolerance_ = 0.5;
  bool asymmetric_ = false;
};

} // namespace

Command& ranges_diff_command() {
  static RangesDiff command;
  return command;
}

} // namespace octet::cli
