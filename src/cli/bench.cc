// SPDX-License-Identifier: Apache-2.0
// octet bench: how fast a model runs here, on random inputs.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "cli/bench_lengths.h"
#include "cli/bench_sizes.h"
#include "cli/command.h"
#include "cli/input_files.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/profile.h"
#include "cli/random_inputs.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/metrics.h"
#include "octet/session.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

class Bench final : public Command {
 public:
  std::string_view name() const override { return "bench"; }
  std::string_view summary() const override { return "latency and throughput of a model"; }
  std::string_view example() const override {
    return "octet bench cnn.int8.onnx --shape x=64x1x28x28 --threads 1";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder, ONNX file or weight store")->required();
    add_list_option(app, "--shape", shapes_,
                    "NAME=1x128, once for each input; open sizes count as 1");
    add_list_option(app, "--sizes", sizes_,
                    "NAME=8:256 or NAME=8:256:4, for open sizes of the inputs: run at sizes drawn "
                    "at random and say what a new size costs (native)");
    app.add_option("--lengths", lengths_,
                   "12,57,128: tokens of the sequences of a batch, or a file with such a line for "
                   "each batch: run without padding (native)");
    app.add_flag("--padded", padded_, "with --lengths: the same batches with padding beside it");
    add_input_options(app, files_, archive_);
    add_number_option(app, "--seconds", seconds_, "how long to measure; one run at least", 0, 3600)
        ->capture_default_str();
    app.add_option("--executor", executor_, "native, reference or torch")->capture_default_str();
    app.add_flag("--plan", plan_, "print which kernel runs each node (native)");
    app.add_flag("--profile", profile_, "print what each node takes of the time (native)");
  }

  Result<Answer> run(const Common& common) override {
    for (const auto& [asked, option] : {std::pair{plan_, "--plan"},
                                        {profile_, "--profile"},
                                        {!sizes_.empty(), "--sizes"},
                                        {!lengths_.empty(), "--lengths"}})
      if (asked && executor_ != "native")
        return error("{} is of the native executor, --executor is {}; leave one out", option,
                     executor_);
    const bool from_files = !files_.empty() || !archive_.empty();
    if (from_files && !shapes_.empty())
      return error("--shape is for random inputs, and inputs were given; leave one out");
    if (!sizes_.empty() && (from_files || !shapes_.empty() || profile_))
      return error("--sizes draws the inputs of each run; leave out {}", profile_ ? "--profile"
                                                                         : shapes_.empty()
                                                                             ? "the inputs"
                                                                             : "--shape");
    if (!lengths_.empty() &&
        (from_files || !shapes_.empty() || !sizes_.empty() || profile_ || plan_))
      return error("--lengths draws the inputs of each batch; leave out other options of inputs, "
                   "--plan and --profile");
    if (padded_ && lengths_.empty()) return error("--padded goes with --lengths; give them too");
    const auto begin = Clock::now();
    if (!lengths_.empty()) return run_lengths(common, OCTET_TRY(open_model(model_, common)));
    Runner runner = OCTET_TRY(make_runner(common));
    const Graph& graph = runner.graph;
    if (!sizes_.empty()) return run_sizes(common, graph, *runner.session);
    const std::vector<Tensor> inputs = OCTET_TRY_WITH(
        from_files ? read_inputs(graph, files_, archive_) : made_inputs(graph, common), model_);
    const auto first = Clock::now();
    OCTET_TRY_WITH(runner.run(inputs), model_);
    const double first_ms = milliseconds(Clock::now() - first);
    const double load_ms = milliseconds(Clock::now() - begin);
    if (plan_) print_plan(common, runner.context->plan());
    const std::vector<double> times = OCTET_TRY_WITH(measure(runner, inputs, first_ms), model_);
    std::optional<Profile> profile;
    if (profile_) profile = OCTET_TRY_WITH(profile_of(runner, inputs, times), model_);
    print_result(common, runner, times, inputs, load_ms, profile);
    return Answer::kDone;
  }

 private:
  struct Runner {
    Graph graph;                      ///< its inputs and outputs
    std::unique_ptr<Session> session; ///< null: another executor than the native one
    std::optional<SessionContext> context;
    std::unique_ptr<Executor> other;

    Status run(const std::vector<Tensor>& inputs) {
      if (context)
        OCTET_TRY(context->run(inputs));
      else
        OCTET_TRY(other->run(inputs));
      return ok_status();
    }
  };

  Result<Answer> run_sizes(const Common& common, const Graph& graph, const Session& session) const {
    const auto ranges = OCTET_TRY(parse_size_ranges(graph, sizes_));
    if (plan_) print_plan(common, session.plan());
    const SizeTimes times =
        OCTET_TRY_WITH(time_sizes(session, graph, ranges, seconds_, common.seed), model_);
    fmt::print("{}", common.json ? json(times) + "\n" : text(times));
    return Answer::kDone;
  }

  Result<Answer> run_lengths(const Common& common, const Graph& graph) const {
    const LengthBatches batches = OCTET_TRY(parse_lengths(lengths_));
    const LengthTimes times =
        OCTET_TRY_WITH(time_lengths(graph, batches, padded_ ? Beside::kPadded : Beside::kNothing,
                                    seconds_, common),
                       model_);
    fmt::print("{}", common.json ? json(times) + "\n" : text(times));
    return Answer::kDone;
  }

  Result<Runner> make_runner(const Common& common) const {
    Runner out;
    if (executor_ != "native") {
      OpenedModel opened = OCTET_TRY(open_executor(model_, executor_, common));
      out.graph = std::move(opened.graph);
      out.other = std::move(opened.executor);
      return out;
    }
    OpenedSession opened = OCTET_TRY(open_session(model_, common));
    out.graph = std::move(opened.graph);
    out.session = std::make_unique<Session>(std::move(opened.session));
    out.context.emplace(out.session->context());
    return out;
  }

  /// Milliseconds of each run, of as many as there is time for. Warming up takes a fifth of it at
  /// most, so a model of slow runs has had its first one only.
  Result<std::vector<double>>
  measure(Runner& runner, const std::vector<Tensor>& inputs, double first_ms) const {
    constexpr double kMostWarmRuns = 10, kWarmShare = 0.2;
    const double budget_ms = seconds_ * 1e3;
    std::vector<double> times;
    const Interruptible interruptible;
    const auto start = Clock::now();
    for (double warm = 1; warm <= std::min(kMostWarmRuns, kWarmShare * budget_ms / first_ms);
         ++warm)
      OCTET_TRY(runner.run(inputs));
    do {
      const auto one = Clock::now();
      OCTET_TRY(runner.run(inputs));
      times.push_back(milliseconds(Clock::now() - one));
    } while (milliseconds(Clock::now() - start) < budget_ms && !interruptible.stopped());
    return times;
  }

  Result<std::vector<Tensor>> made_inputs(const Graph& graph, const Common& common) const {
    const InputShapes shapes = OCTET_TRY(parse_input_shapes(graph, shapes_));
    return random_inputs(graph, shapes, {}, common.seed);
  }

  /// As many runs as were measured, 1,000 at most.
  static Result<Profile>
  profile_of(Runner& runner, const std::vector<Tensor>& inputs, const std::vector<double>& times) {
    const int runs = static_cast<int>(std::min<size_t>(times.size(), 1000));
    const std::vector<double> ms = OCTET_TRY(runner.context->profile(inputs, runs));
    return make_profile(runner.context->plan(), ms);
  }

  /// Beside JSON for people alone.
  static void print_plan(const Common& common, const std::vector<PlannedNode>& plan) {
    for (const PlannedNode& n : plan)
      fmt::print(common.json ? stderr : stdout, "{:<40} {}{}{}\n", n.node, n.kernel,
                 n.why.empty() ? "" : ": ", n.why);
  }

  void print_result(const Common& common,
                    const Runner& runner,
                    const std::vector<double>& times,
                    const std::vector<Tensor>& inputs,
                    double load_ms,
                    const std::optional<Profile>& profile) const {
    const double median = quantile(times, 0.5);
    const int64_t batch = inputs.empty() || inputs[0].rank() == 0 ? 1 : inputs[0].dim(0);
    const double rate = static_cast<double>(batch) / (median / 1e3);
    if (common.json) {
      nlohmann::ordered_json out = {{"latency_ms_min", quantile(times, 0)},
                                    {"latency_ms_median", median},
                                    {"latency_ms_p99", quantile(times, 0.99)},
                                    {"samples_per_second", rate},
                                    {"executor", executor_},
                                    {"runs", times.size()},
                                    {"peak_rss_bytes", peak_rss_bytes()},
                                    {"load_ms", load_ms}};
      if (runner.session) {
        out["threads"] = runner.session->threads();
        out["isa"] = std::string(runner.session->isa());
      }
      if (profile) out["profile"] = profile_json(*profile);
      fmt::print("{}\n", json_text(out));
      return;
    }
    if (profile) fmt::print("{}\n", text(*profile));
    const std::string how =
        runner.session
            ? fmt::format("{} threads, {}", runner.session->threads(), runner.session->isa())
            : executor_ + " executor";
    fmt::print("{}: median {:.4f} ms, min {:.4f}, p99 {:.4f}; {:.0f} examples/s; {}; "
               "loaded in {:.1f} ms; {}\n",
               model_, median, quantile(times, 0), quantile(times, 0.99), rate, how, load_ms,
               counted(std::ssize(times), "run"));
  }

  std::string model_, executor_ = "native";
  std::vector<std::string> shapes_, sizes_, files_;
  std::string archive_, lengths_;
  double seconds_ = 2;
  bool plan_ = false, profile_ = false, padded_ = false;
};

} // namespace

Command& bench_command() {
  static Bench command;
  return command;
}

} // namespace octet::cli
