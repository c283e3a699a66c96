// SPDX-License-Identifier: Apache-2.0
// octet bench: how fast a model runs here, on random inputs.
#include <chrono>

#include "cli/command.h"
#include "cli/list_option.h"
#include "cli/models.h"
#include "cli/random_inputs.h"
#include "cli/terminal.h"
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
    app.add_option("model", model_, "model folder or ONNX file")->required();
    add_list_option(app, "--shape", shapes_,
                    "NAME=1x128, once for each input; open sizes count as 1");
    app.add_option("--seconds", seconds_, "how long to measure")->check(CLI::Range(0.01, 3600.0));
    app.add_flag("--plan", plan_, "print which kernel runs each node");
  }

  Result<Answer> run(const Common& common) override {
    const auto begin = Clock::now();
    const Graph graph = OCTET_TRY(open_model(model_));
    const Session session = OCTET_TRY_WITH(
        Session::create(graph, {.threads = common.threads, .isa = {}, .lower = true}), model_);
    SessionContext context = session.context();
    const InputShapes shapes = OCTET_TRY_WITH(parse_input_shapes(graph, shapes_), model_);
    const std::vector<Tensor> inputs =
        OCTET_TRY_WITH(random_inputs(graph, shapes, {}, common.seed), model_);
    OCTET_TRY_WITH(context.run(inputs), model_);
    const double load_ms = milliseconds(Clock::now() - begin);
    if (plan_) print_plan(session);

    std::vector<double> times;
    const Interruptible interruptible;
    const auto start = Clock::now();
    for (int warm = 0; warm < 10; ++warm)
      OCTET_TRY(context.run(inputs));
    while (times.size() < 10 || milliseconds(Clock::now() - start) < seconds_ * 1e3) {
      const auto one = Clock::now();
      OCTET_TRY(context.run(inputs));
      times.push_back(milliseconds(Clock::now() - one));
      if (interruptible.stopped()) break;
    }
    print_result(common, session, times, inputs, load_ms);
    return Answer::kDone;
  }

 private:
  static void print_plan(const Session& session) {
    for (const PlannedNode& n : session.plan())
      fmt::print("{:<40} {}{}{}\n", n.node, n.kernel, n.why.empty() ? "" : ": ", n.why);
  }

  void print_result(const Common& common,
                    const Session& session,
                    const std::vector<double>& times,
                    const std::vector<Tensor>& inputs,
                    double load_ms) const {
    const double median = quantile(times, 0.5);
    const int64_t batch = inputs.empty() || inputs[0].rank() == 0 ? 1 : inputs[0].dim(0);
    const double rate = static_cast<double>(batch) / (median / 1e3);
    if (common.json) {
      const nlohmann::ordered_json out = {{"latency_ms_min", quantile(times, 0)},
                                          {"latency_ms_median", median},
                                          {"latency_ms_p99", quantile(times, 0.99)},
                                          {"samples_per_second", rate},
                                          {"threads", session.threads()},
                                          {"isa", std::string(session.isa())},
                                          {"runs", times.size()},
                                          {"peak_rss_bytes", peak_rss_bytes()},
                                          {"load_ms", load_ms}};
      fmt::print("{}\n", out.dump(2));
      return;
    }
    fmt::print("{}: median {:.4f} ms, min {:.4f}, p99 {:.4f}; {:.0f} examples/s; {} threads, {}; "
               "loaded in {:.1f} ms\n",
               model_, median, quantile(times, 0), quantile(times, 0.99), rate, session.threads(),
               session.isa(), load_ms);
  }

  std::string model_;
  std::vector<std::string> shapes_;
  double seconds_ = 2;
  bool plan_ = false;
};

} // namespace

Command& bench_command() {
  static Bench command;
  return command;
}

} // namespace octet::cli
