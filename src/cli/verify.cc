// SPDX-License-Identifier: Apache-2.0
// octet verify: whether a model still is and computes what a lock says.
#include <filesystem>

#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/locked_accuracy.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "core/cpu.h"
#include "core/format.h"
#include "core/json.h"
#include "data/npz.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/lock.h"
#include "octet/version.h"

namespace octet::cli {
namespace {

class Verify final : public Command {
 public:
  std::string_view name() const override { return "verify"; }
  std::string_view summary() const override {
    return "whether a model still is and computes what a lock says; exit 1: something differs";
  }
  std::string_view example() const override {
    return "octet verify cnn.lock.json --threads 4 --batch 1";
  }

  void define(CLI::App& app) override {
    app.add_option("lock", path_, "what octet lock wrote")->required();
    app.add_option("--model", model_, "this model in place of the one that the lock names");
    add_count_option(app, "--batch", batch_, "examples a run, 0: all that the lock has",
                     {0, 65536});
    app.add_option("--data", data_,
                   "evaluate again too, on the data set that was locked, kind:path");
    add_max_length(app, max_length_);
    app.add_option("--outputs", outputs_,
                   "npz file of what another runtime computed from the lock's inputs, by the names "
                   "of the outputs, in place of a run");
    app.add_option("--inputs-to", inputs_to_, "write the lock's inputs as an npz file, and end");
  }

  Result<Answer> run(const Common& common) override {
    if (!inputs_to_.empty()) OCTET_TRY(check_output(inputs_to_, {path_, model_}, common));
    const Lock lock = OCTET_TRY(load_lock(path_));
    if (!inputs_to_.empty()) {
      OCTET_TRY(
          write_npz(inputs_to_, lock.inputs, common.force ? Overwrite::kYes : Overwrite::kNo));
      return Answer::kDone;
    }
    const Seen seen =
        outputs_.empty() ? OCTET_TRY(run_model(lock, common)) : OCTET_TRY(compare(lock));
    common.json ? print_json(lock, seen) : print_text(lock, seen);
    return seen.same() ? Answer::kDone : Answer::kNo;
  }

 private:
  struct Seen {
    std::string what; ///< that was looked at
    std::string isa;  ///< empty: octet ran nothing
    LockFindings model, results;
    std::optional<LockedAccuracy> accuracy;
    bool same_predictions = true;

    bool same() const { return model.empty() && results.empty() && same_predictions; }
  };

  Result<Seen> compare(const Lock& lock) const {
    const NamedTensors given = OCTET_TRY(read_npz(outputs_));
    return Seen{.what = outputs_,
                .results = OCTET_TRY_WITH(changed_outputs(lock, given), outputs_)};
  }

  Result<Seen> run_model(const Lock& lock, const Common& common) const {
    const auto folder = std::filesystem::path(path_).parent_path();
    Seen seen{.what = model_.empty() ? (folder / lock.model).lexically_normal().string() : model_,
              .isa = isa_text(OCTET_TRY(selected_isa()))};
    const auto opened = open_model(seen.what, common);
    if (!opened.ok() && model_.empty())
      return Error(opened.error()).with("the lock's model; --model names another place");
    const Graph& graph = OCTET_TRY(opened);
    seen.model = changed_parts(lock, graph);
    seen.results = OCTET_TRY_WITH(changed_results(lock, graph, {.threads = common.threads}, batch_),
                                  seen.what);
    if (data_.empty()) return seen;
    if (const Status again = evaluate_again(lock, graph, seen, common); !again.ok()) {
      // Of a model that differs, perhaps because of that.
      if (seen.same() || again.error().code() == ErrorCode::kCancelled) return again.error();
      seen.results.push_back(fmt::format("is not evaluated: {}", again.error().text()));
    }
    return seen;
  }

  Status
  evaluate_again(const Lock& lock, const Graph& graph, Seen& seen, const Common& common) const {
    if (!lock.accuracy) return error("{} has no accuracy; lock the model with --data", path_);
    const int64_t examples = lock.accuracy->examples;
    const auto data = OCTET_TRY(open_model_data({data_, Split::kTest, max_length_, examples, {}},
                                                graph, seen.what, common));
    OCTET_TRY_WITH(check_data(graph, *data, data_, examples), seen.what);
    seen.accuracy =
        OCTET_TRY_WITH(locked_accuracy(graph, *data, data_, examples, common), seen.what);
    if (!seen.accuracy) return error("{} has no labels", data_);
    seen.same_predictions = seen.accuracy->predictions == lock.accuracy->predictions &&
                            seen.accuracy->examples == examples;
    return ok_status();
  }

  void print_json(const Lock& lock, const Seen& seen) const {
    nlohmann::ordered_json out = {
        {"same", seen.same()},        {"looked_at", seen.what},  {"octet", version()},
        {"locked_octet", lock.octet}, {"isa", seen.isa},         {"locked_isa", lock.isa},
        {"model", seen.model},        {"results", seen.results}, {"accuracy", nullptr}};
    if (seen.accuracy)
      out["accuracy"] = {{"accuracy", seen.accuracy->accuracy},
                         {"locked", lock.accuracy->accuracy},
                         {"same_predictions", seen.same_predictions}};
    fmt::print("{}\n", json_text(out));
  }

  void print_text(const Lock& lock, const Seen& seen) const {
    fmt::print("{}: made by octet {} with {}", path_, lock.octet, lock.isa);
    if (!seen.isa.empty()) fmt::print("; this is octet {} with {}", version(), seen.isa);
    fmt::print("\n");
    for (const LockFindings* findings : {&seen.model, &seen.results})
      for (const std::string& text : *findings)
        fmt::print("{}: {}\n", seen.what, text);
    if (seen.accuracy)
      fmt::print("{}: {}, locked {}: predictions are {}\n", seen.what, text_of(*seen.accuracy),
                 text_of(*lock.accuracy), seen.same_predictions ? "the same" : "others");
    if (seen.same())
      fmt::print("{}: nothing changed{}\n", seen.what,
                 seen.isa.empty() ? " in the outputs"
                                  : fmt::format(" in {} parts and the outputs", lock.parts.size()));
  }

  std::string path_, model_, data_, outputs_, inputs_to_;
  int64_t batch_ = 0, max_length_ = 0;
};

} // namespace

Command& verify_command() {
  static Verify command;
  return command;
}

} // namespace octet::cli
