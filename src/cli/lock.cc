// SPDX-License-Identifier: Apache-2.0
// octet lock: keeps what a model is and what it computes, for octet verify.
#include "octet/lock.h"

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/input_files.h"
#include "cli/locked_accuracy.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/random_inputs.h"
#include "core/format.h"
#include "core/json.h"
#include "lock/file.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class LockModel final : public Command {
 public:
  std::string_view name() const override { return "lock"; }
  std::string_view summary() const override {
    return "keep what a model is and what it computes; verify says whether anything changed";
  }
  std::string_view example() const override {
    return "octet lock cnn.int8.onnx --data fashion-mnist:DIR -o cnn.lock.json";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option("-o,--output", output_,
                   "JSON file to write; inputs and outputs go into an npz file beside it")
        ->required();
    app.add_option("--data", data_,
                   "inputs, and with labels the accuracy, from the test part of this data set, "
                   "kind:path; without data or inputs: random numbers by --seed");
    add_count_option(app, "--samples", samples_, "examples whose outputs are kept", {1, 4096})
        ->capture_default_str();
    add_count_option(app, "--limit", limit_, "examples of the accuracy, 0: none", {0, 1 << 30})
        ->capture_default_str();
    add_max_length(app, max_length_);
    add_input_options(app, inputs_, archive_);
    add_list_option(app, "--shape", shapes_, "NAME=1x128 of random inputs");
  }

  Result<Answer> run(const Common& common) override {
    UsedFiles used = inputs_;
    used.insert(used.end(), {model_, archive_, data_});
    OCTET_TRY(check_output(output_, used, common));
    OCTET_TRY(check_output(lock_arrays_path(output_), used, common));
    if (lock_arrays_path(output_) == output_)
      return error("{}: an npz file of this name is written beside it; end the name in .json",
                   output_);
    const Graph graph = OCTET_TRY(open_model(model_, common));
    std::shared_ptr<const Dataset> data;
    if (!data_.empty()) {
      data = OCTET_TRY(
          open_model_data({data_, Split::kTest, max_length_, limit_, {}}, graph, model_, common));
      OCTET_TRY_WITH(check_data(graph, *data, data_, std::max(samples_, limit_)), model_);
    }
    const auto inputs = OCTET_TRY_WITH(open_inputs_of(graph, data.get(), common), model_);
    Lock lock = OCTET_TRY_WITH(make_lock(graph, inputs, {.threads = common.threads}), model_);
    const auto folder = std::filesystem::absolute(output_).parent_path();
    lock.model = std::filesystem::absolute(model_).lexically_proximate(folder).string();
    if (data != nullptr && limit_ > 0)
      lock.accuracy = OCTET_TRY_WITH(locked_accuracy(graph, *data, data_, limit_, common), model_);
    OCTET_TRY(save_lock(lock, output_, common.force));
    common.json ? print_json(lock) : print_text(lock);
    return Answer::kDone;
  }

 private:
  Result<std::vector<Tensor>>
  open_inputs_of(const Graph& graph, const Dataset* data, const Common& common) const {
    const bool files = !inputs_.empty() || !archive_.empty();
    if (files && data != nullptr)
      return Error("inputs come from files or from --data; give one of them");
    if (files) return read_inputs(graph, inputs_, archive_);
    if (data == nullptr)
      return random_inputs(graph, OCTET_TRY(parse_input_shapes(graph, shapes_)),
                           different_sizes(graph), common.seed);
    return first_inputs(graph, *data, samples_);
  }

  static void print_json(const Lock& lock) {
    nlohmann::ordered_json out = {{"octet", lock.octet},
                                  {"isa", lock.isa},
                                  {"parts", lock.parts.size()},
                                  {"values", lock.values.size()},
                                  {"outputs", lock.outputs.size()},
                                  {"accuracy", nullptr}};
    if (lock.accuracy) out["accuracy"] = lock.accuracy->accuracy;
    fmt::print("{}\n", json_text(out));
  }

  void print_text(const Lock& lock) const {
    fmt::print(
        "{}: hashes of the {} parts of {} and of {} values within a run, inputs and outputs\n",
        output_, lock.parts.size(), model_, lock.values.size());
    if (lock.accuracy) fmt::print("accuracy {}\n", text_of(*lock.accuracy));
    fmt::print("see whether anything changed: octet verify {}\n", output_);
  }

  std::string model_, output_, data_, archive_;
  std::vector<std::string> inputs_, shapes_;
  int64_t samples_ = 8, limit_ = 1000, max_length_ = 0;
};

} // namespace

Command& lock_command() {
  static LockModel command;
  return command;
}

} // namespace octet::cli
