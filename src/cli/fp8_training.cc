// SPDX-License-Identifier: Apache-2.0
// octet fp8 training: the same networks trained in float and in FP8 from the same weights, and their
// losses side by side. Source of the experiment: Micikevicius et al., arXiv:2209.05433, section 4.
#include <algorithm>
#include <cmath>

#include "cli/fp8_networks.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "report/line_chart.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/train.h"

namespace octet::cli {
namespace {

/// Points of a curve.
constexpr int64_t kLooks = 10;

struct Recipe {
  std::string_view name;
  Precision precision;
  Fp8Scaling scaling;
};
constexpr Recipe kRecipes[] = {
    {"f32", Precision::kFloat32, Fp8Scaling::kDelayed},
    {"FP8 delayed", Precision::kFloat8, Fp8Scaling::kDelayed},
    {"FP8 current", Precision::kFloat8, Fp8Scaling::kCurrent},
};

struct Curve {
  std::vector<int64_t> steps;
  std::vector<double> loss; ///< on the test part, after so many steps
  double final_accuracy = 0;
};

class Fp8Training final : public Command {
 public:
  std::string_view name() const override { return "fp8 training"; }
  std::string_view summary() const override {
    return "train networks in float and in FP8 from the same weights, and compare";
  }
  std::string_view example() const override {
    return "octet fp8 training --images fashion-mnist:DIR --runs 3 -o fp8/";
  }

  void define(CLI::App& app) override {
    flags_.define(app);
    add_list_option(app, "--networks", patterns_, "of those of pass-rates, by name (* and ?)", ',')
        ->capture_default_str();
    add_count_option(app, "--runs", runs_, "of each, with seeds from --seed on", {1, 100})
        ->capture_default_str();
    add_count_option(app, "--epochs", epochs_, "passes over the data, 0: as pass-rates", {0, 1000})
        ->capture_default_str();
  }

  Result<Answer> run(const Common& common) override {
    const std::vector<SmallNetwork> networks = OCTET_TRY(networks_named(patterns_));
    std::vector<std::string> results = {"training.json"};
    for (const SmallNetwork& what : networks)
      results.push_back(figure_of(what));
    OCTET_TRY(flags_.check(results, common));
    const Overwrite overwrite = common.force ? Overwrite::kYes : Overwrite::kNo;
    nlohmann::ordered_json out = {{"runs", runs_}, {"networks", nlohmann::ordered_json::array()}};
    std::vector<std::string> header = {"network", "seed"};
    for (const Recipe& recipe : kRecipes)
      header.emplace_back(recipe.name);
    Table table(std::move(header));
    for (const SmallNetwork& what : networks) {
      const std::vector<std::vector<Curve>> runs = OCTET_TRY(curves_of(what, common));
      out["networks"].push_back(to_json(what, runs, common));
      OCTET_TRY(write_file(flags_.path(figure_of(what)), svg_of(chart_of(what, runs)), overwrite));
      add_rows(table, what, runs, common);
    }
    OCTET_TRY(write_file(flags_.path("training.json"), json_text(out) + "\n", overwrite));
    if (common.json)
      fmt::print("{}\n", json_text(out));
    else
      fmt::print("accuracy on the test part, per cent\n{}", table.text());
    return Answer::kDone;
  }

 private:
  static std::string figure_of(const SmallNetwork& what) {
    return fmt::format("training-{}.svg", what.name);
  }

  /// By run, then by recipe: all recipes of a run start with the same weights and see the same
  /// batches.
  Result<std::vector<std::vector<Curve>>> curves_of(const SmallNetwork& what,
                                                    const Common& common) const {
    std::vector<std::vector<Curve>> out;
    for (int64_t run = 0; run < runs_; ++run) {
      Common seeded = common;
      seeded.seed += static_cast<uint64_t>(run);
      const StudyNetwork network = OCTET_TRY(flags_.fresh(what, seeded));
      out.emplace_back();
      for (const Recipe& recipe : kRecipes)
        out.back().push_back(OCTET_TRY(curve(network, recipe, seeded)));
    }
    return out;
  }

  Result<Curve>
  curve(const StudyNetwork& network, const Recipe& recipe, const Common& common) const {
    const Interruptible interruptible;
    ProgressLine progress(
        fmt::format("{}, seed {}, {}", network.what.name, common.seed, recipe.name), "steps");
    TrainOptions options = flags_.training(network.what, common);
    if (epochs_ > 0) options.epochs = epochs_;
    options.precision = recipe.precision;
    options.fp8.scaling = recipe.scaling;
    const int64_t batches =
        (network.train->size() + options.batch_size - 1) / options.batch_size * options.epochs;
    options.evaluate_steps = std::max<int64_t>(batches / kLooks, 1);
    options.cancel = &interruptible.token();
    options.on_step = [&](const TrainProgress& p) {
      progress.update(p.step, p.steps, fmt::format("loss {:.4f}", p.loss));
    };
    TrainApi* api = OCTET_TRY(train_api());
    const TrainedModel model =
        OCTET_TRY_WITH(api->train(network.graph, *network.train, network.test.get(), options),
                       std::string(network.what.name));
    if (model.report.cancelled) return Error("stopped by the user", ErrorCode::kCancelled);
    Curve out;
    for (const EvaluationRecord& look : model.report.evaluations) {
      out.final_accuracy = look.accuracy;
      // Ends of epochs lie between, and the axis has equal distances.
      if (look.step % options.evaluate_steps != 0 ||
          (!out.steps.empty() && out.steps.back() == look.step))
        continue;
      out.steps.push_back(look.step);
      out.loss.push_back(look.loss);
    }
    if (out.steps.empty()) return error("{}: no step was made", network.what.name);
    return out;
  }

  static double mean(const std::vector<std::vector<Curve>>& runs, size_t recipe, size_t look) {
    double sum = 0;
    for (const std::vector<Curve>& run : runs)
      sum += run[recipe].loss[look];
    return sum / static_cast<double>(runs.size());
  }

  LineChart chart_of(const SmallNetwork& what, const std::vector<std::vector<Curve>>& runs) const {
    LineChart out{.title = fmt::format("{} trained in float and in FP8", what.name),
                  .x_label = "steps",
                  .y_label = runs_ == 1 ? "loss on the test part"
                                        : fmt::format("loss on the test part, mean of {}", runs_)};
    const Curve& first = runs[0][0];
    for (const int64_t step : first.steps)
      out.ticks.push_back(std::to_string(step));
    for (size_t r = 0; r < std::size(kRecipes); ++r) {
      out.lines.push_back({std::string(kRecipes[r].name), {}});
      for (size_t i = 0; i < first.steps.size(); ++i)
        out.lines.back().values.push_back(mean(runs, r, i));
    }
    return out;
  }

  static nlohmann::ordered_json to_json(const SmallNetwork& what,
                                        const std::vector<std::vector<Curve>>& runs,
                                        const Common& common) {
    nlohmann::ordered_json out = {{"network", std::string(what.name)},
                                  {"runs", nlohmann::ordered_json::array()}};
    for (size_t run = 0; run < runs.size(); ++run) {
      nlohmann::ordered_json row = {{"seed", common.seed + run}};
      for (size_t r = 0; r < std::size(kRecipes); ++r) {
        const Curve& curve = runs[run][r];
        row["recipes"].push_back({{"recipe", std::string(kRecipes[r].name)},
                                  {"accuracy", curve.final_accuracy},
                                  {"steps", curve.steps},
                                  {"loss", curve.loss}});
      }
      out["runs"].push_back(std::move(row));
    }
    return out;
  }

  static void add_rows(Table& table,
                       const SmallNetwork& what,
                       const std::vector<std::vector<Curve>>& runs,
                       const Common& common) {
    for (size_t run = 0; run < runs.size(); ++run) {
      std::vector<std::string> cells = {std::string(what.name), std::to_string(common.seed + run)};
      for (const Curve& curve : runs[run])
        cells.push_back(fmt::format("{:.2f}", 100 * curve.final_accuracy));
      table.add(std::move(cells));
    }
  }

  StudyFlags flags_;
  std::vector<std::string> patterns_ = {"cnn", "depthwise-norm", "bert-count"};
  int64_t runs_ = 3, epochs_ = 0;
};

} // namespace

Command& fp8_training_command() {
  static Fp8Training command;
  return command;
}

} // namespace octet::cli
