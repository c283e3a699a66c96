// SPDX-License-Identifier: Apache-2.0
// octet optimize: the fastest quantized network that loses no more than a bar allows.
#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/history.h"
#include "cli/model_data.h"
#include "cli/model_images.h"
#include "cli/models.h"
#include "cli/optimize_data.h"
#include "cli/optimize_measure.h"
#include "cli/optimize_report.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/page_origin.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/dataset_hash.h"
#include "quant/search/search.h"
#include "targets/tables.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/repair.h"
#include "octet/target.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

/// `90`, `90s`, `10m`, `2h`, as seconds.
Result<double> parse_duration(const std::string& text) {
  if (text.empty()) return 0.0;
  const char unit = text.back();
  const double factor = unit == 'm' ? 60 : unit == 'h' ? 3600 : 1;
  const bool has_unit = unit == 's' || unit == 'm' || unit == 'h';
  const auto number = decimal_number(std::string_view(text).substr(0, text.size() - has_unit));
  if (!number || !(*number > 0) || !(*number * factor < 1e9))
    return error("--budget: \"{}\" is no duration; write 90s, 10m or 2h", text);
  return *number * factor;
}

class Optimize final : public Command {
 public:
  std::string_view name() const override { return "optimize"; }
  std::string_view summary() const override {
    return "quantize as fast (or as small) as possible with at most so much accuracy lost";
  }
  std::string_view example() const override {
    return "octet optimize cnn.onnx --data fashion-mnist:DIR --max-drop 0.5 --budget 10m -o "
           "best.onnx";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "float model, folder or ONNX file")->required();
    app.add_option("-o,--output", output_, "ONNX file to write, or a model folder")->required();
    app.add_option("--data", data_, "data set, kind:path; labels are needed for --max-drop")
        ->required();
    drop_option_ = add_number_option(app, "--max-drop", max_drop_,
                                     "points of accuracy that may be lost", 0, 100);
    drop_option_->capture_default_str();
    sqnr_option_ = add_number_option(
        app, "--min-sqnr", min_sqnr_,
        "decibels that the outputs keep beside the float network's: for data without labels", 0,
        200);
    app.add_option("--budget", budget_, "time for the search: 90s, 10m, 2h; default: no end");
    app.add_option("--target", target_, "what will run the file; but for octet costs are a model's")
        ->capture_default_str();
    app.add_option("--goal", goal_, "speed, or size: the smallest network that holds the bar")
        ->check(CLI::IsMember({"speed", "size"}))
        ->capture_default_str();
    app.add_option("--costs", costs_,
                   "measured (on this machine; the default for speed with octet) or model "
                   "(multiply-adds by format: the same file in every run)")
        ->check(CLI::IsMember({"measured", "model"}));
    constexpr CountRange kSome = {1, CountRange::kNoLimit};
    add_count_option(app, "--samples", counts_.calibration, "examples for ranges", kSome)
        ->capture_default_str();
    add_count_option(app, "--search-samples", counts_.search, "examples that decide the search",
                     kSome)
        ->capture_default_str();
    add_count_option(app, "--check-samples", counts_.held_out, "examples held out of it", kSome)
        ->capture_default_str();
    app.add_flag("--training-data", training_alone_,
                 "take all examples from the training part of the data");
    add_max_length(app, max_length_);
    add_zeros(app, zeros_);
    add_list_option(app, "--include,--quantize", include_,
                    "quantize only nodes or operators like this (* and ?)", ',');
    add_list_option(app, "--exclude,--keep-float", exclude_,
                    "leave nodes or operators like this in float", ',');
    app.add_option("--mask-input", mask_input_, "input that is 0 where the others hold padding");
    app.add_option("--save-plan", save_plan_, "write the plan as JSON");
    app.add_option("--report", report_, "write networks, picture and layers as an HTML page");
    app.add_flag("--restart", restart_, "forget what an earlier run of this output has measured");
  }

  Result<Answer> run(const Common& common) override {
    const Bar bar = OCTET_TRY(parse_bar());
    const double budget = OCTET_TRY(parse_duration(budget_));
    const std::string target = OCTET_TRY(parse_target(target_));
    const Goal goal = goal_ == "size" ? Goal::kSize : Goal::kSpeed;
    const bool model = costs_.empty() ? goal == Goal::kSize : costs_ == "model";
    const CostBy costs = model || target != "octet" ? CostBy::kModel : CostBy::kMeasured;
    OCTET_TRY(check_outputs(common));
    Graph graph = OCTET_TRY(open_model(model_, common));
    OCTET_TRY(keep_image_preparation(graph, model_, data_));
    OCTET_TRY(check_float(graph, model_, "a search begins with the float model"));
    const OptimizeData data =
        OCTET_TRY_WITH(open_optimize_data({data_, Split::kTest, max_length_, 0, {}, zeros_},
                                          counts_, training_alone_, graph, model_, common),
                       model_);
    if (bar.max_drop && !data.labelled)
      return error("{}: has no labels, so that no accuracy can be lost; use --min-sqnr", data_);
    if (data.labelled) OCTET_TRY(check_labels(*data.search, graph, model_));
    MeterOptions meter_options{.target = target,
                               .costs = costs,
                               .texts = is_text_spec(corpus_spec(data_)),
                               .mask_input = padding_mask(graph, mask_input_, data_)};
    Meter meter = OCTET_TRY_WITH(Meter::create(graph, data, meter_options, common), model_);
    Journal journal = OCTET_TRY(
        Journal::open(journal_path(), identity(graph, data, meter_options, bar, meter, common)));
    const auto placement = OCTET_TRY(find_placement(target));
    SearchTask task = make_task(graph, *placement, data, bar, journal, meter_options, common);
    task.budget_seconds = budget;
    task.goal = goal;
    facts_ = {{"target", target},
              {"goal", goal_},
              {"seed", common.seed},
              {"data",
               {{"examples", data.calibration->size()},
                {"content", hash_text(dataset_hash(*data.calibration))}}},
              {kHistorySource, history_source(model_)}}; // once, and not for each better network
    if (bar.max_drop) facts_["max_drop"] = *bar.max_drop;
    if (bar.min_sqnr) facts_["min_sqnr"] = *bar.min_sqnr;
    const SearchResult result = OCTET_TRY_WITH(search(task, meter, common), model_);
    OCTET_TRY(write_best(result.quantized ? &*result.quantized : nullptr, task, common));
    const OptimizeSummary summary{
        result, data, bar, goal, costs, target, output_, meter.machine(), journal.resumed()};
    if (!save_plan_.empty() && result.plan)
      OCTET_TRY(save_plan(*result.plan, save_plan_, common.force));
    if (!save_plan_.empty() && !result.plan)
      fmt::print(stderr, "{}: not written: the float network is kept\n", save_plan_);
    if (!report_.empty())
      OCTET_TRY(write_file(report_, optimize_page(summary, page_origin(common)),
                           common.force ? Overwrite::kYes : Overwrite::kNo));
    fmt::print("{}", common.json ? optimize_json(summary) : optimize_text(summary));
    return Answer::kDone;
  }

 private:
  Result<Bar> parse_bar() const {
    Bar bar;
    if (sqnr_option_->count() > 0) bar.min_sqnr = min_sqnr_;
    if (drop_option_->count() > 0 || !bar.min_sqnr) bar.max_drop = max_drop_;
    return bar;
  }

  std::string journal_path() const {
    std::string out = output_;
    while (out.size() > 1 && out.back() == '/')
      out.pop_back();
    return out + ".journal";
  }

  /// What lies at the output is this search's own where its journal lies beside it.
  Status check_outputs(const Common& common) {
    std::error_code ignored;
    const std::string journal = journal_path();
    Common own = common;
    const bool is_there =
        fs::is_regular_file(journal, ignored) && fs::file_size(journal, ignored) > 0;
    if (is_there && !restart_) own.force = true;
    UsedFiles used = {model_, data_};
    OCTET_TRY(check_model_output(output_, writes_folder(output_, model_), used, own));
    OCTET_TRY(check_unused(journal, used, common));
    if (fs::exists(journal, ignored) && !fs::is_regular_file(journal, ignored))
      return error("{}: is no file; name another output", journal);
    used.push_back(output_);
    used.push_back(journal);
    if (!save_plan_.empty()) {
      OCTET_TRY(check_output(save_plan_, used, common));
      OCTET_TRY(check_output(plan_numbers_path(save_plan_), used, common));
      used.push_back(save_plan_);
    }
    if (!report_.empty()) OCTET_TRY(check_output(report_, used, common));
    if (restart_) fs::remove(journal, ignored);
    return ok_status();
  }

  /// All that what a search measures depends on, but for its budget: it may be given more.
  std::string identity(const Graph& graph,
                       const OptimizeData& data,
                       const MeterOptions& meter_options,
                       const Bar& bar,
                       const Meter& meter,
                       const Common& common) const {
    nlohmann::ordered_json out = {
        {"octet_search", 2},
        {"graph", fmt::format("{:016x}", graph.content_hash())},
        {"data", {data.training, data.test}},
        {"examples", {data.calibration->size(), data.search->size(), data.held_out->size()}},
        {"max_length", max_length_},
        {"zeros", zeros_},
        {"mask", meter_options.mask_input},
        {"include", include_},
        {"exclude", exclude_},
        {"target", meter_options.target},
        {"goal", goal_},
        {"seed", common.seed}};
    out["max_drop"] = bar.max_drop ? nlohmann::ordered_json(*bar.max_drop) : nullptr;
    out["min_sqnr"] = bar.min_sqnr ? nlohmann::ordered_json(*bar.min_sqnr) : nullptr;
    out["costs"] =
        meter_options.costs == CostBy::kMeasured ? "measured, " + meter.machine() : "model";
    return json_text(out, -1);
  }

  SearchTask make_task(const Graph& graph,
                       const Placement& placement,
                       const OptimizeData& data,
                       const Bar& bar,
                       Journal& journal,
                       const MeterOptions& meter_options,
                       const Common& common) const {
    QuantizeOptions options;
    options.target = meter_options.target;
    options.include = include_;
    options.exclude = exclude_;
    options.samples = 0; // all of the part that is for ranges
    options.mask_input = meter_options.mask_input;
    options.threads = common.threads;
    options.executor = measuring_executor(common, true);
    return {.graph = graph,
            .placement = placement,
            .calibration = *data.calibration,
            .options = std::move(options),
            .bar = bar,
            .examples = data.labelled ? data.search->size() : 0,
            .budget_seconds = 0,
            .costs = meter_options.costs,
            .goal = Goal::kSpeed,
            .reads_codes = meter_options.target == "octet",
            .learner = rounding_learner,
            .journal = journal,
            .measure = {},
            .check = {},
            .improved = {},
            .progress = {}};
  }

  Result<SearchResult> search(SearchTask& task, Meter& meter, const Common& common) const {
    ProgressLine line("search", "networks");
    const Interruptible interruptible;
    task.options.progress = [&](int64_t, int64_t) { return !interruptible.stopped(); };
    task.measure = [&](const Graph* quantized, const Measured* as_float) {
      return meter.measure(quantized, as_float);
    };
    task.check = [&](const Graph& quantized) { return meter.check(quantized); };
    task.improved = [&](const Graph* best) { return write_best(best, task, common); };
    task.progress = [&](int64_t trials, const std::string& what) {
      line.update(trials, 0, what);
      return !interruptible.stopped();
    };
    return search_plan(task);
  }

  /// As quantize writes a plan of it; the float network where nothing in codes is better.
  Status write_best(const Graph* best, const SearchTask& task, const Common& common) const {
    Common own = common;
    own.force = true; // check_outputs() saw to it that only the search's own file is there
    if (best == nullptr) return write_model(task.graph, output_, own, model_, {}, facts_);
    const Repaired mended = OCTET_TRY_WITH(mend_exactly(*best, task.options.target), output_);
    return write_model(mended.graph, output_, own, model_, {}, facts_);
  }

  std::string model_, output_, data_, budget_, target_ = "octet", goal_ = "speed", costs_,
                                               mask_input_, save_plan_, report_;
  std::vector<std::string> include_, exclude_, zeros_;
  double max_drop_ = 0.5, min_sqnr_ = 0;
  CLI::Option *drop_option_ = nullptr, *sqnr_option_ = nullptr;
  OptimizeCounts counts_;
  int64_t max_length_ = 0;
  bool training_alone_ = false, restart_ = false;
  nlohmann::json facts_; ///< of the history of what is found
};

} // namespace

Command& optimize_command() {
  static Optimize command;
  return command;
}

} // namespace octet::cli
