// SPDX-License-Identifier: Apache-2.0
#include "cli/fp8_networks.h"

#include <algorithm>
#include <filesystem>

#include "cli/models.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/classification.h"
#include "octet/onnx.h"
#include "octet/quantize.h"
#include "octet/session.h"
#include "octet/train.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCalibrated = 256;
constexpr int64_t kImageEpochs = 3, kTokenEpochs = 25;
constexpr int64_t kStudyBatch = 64;
constexpr double kStudyRate = 2e-3;

Result<double>
measured(const Graph& graph, const Dataset& data, const Common& common, const char* what) {
  const auto executor =
      OCTET_TRY(make_native_executor(graph, SessionOptions{.threads = common.threads}));
  const Interruptible interruptible;
  const ClassifyOptions options{
      .batch = kStudyBatch, .progress = [&](int64_t, int64_t) { return !interruptible.stopped(); }};
  return OCTET_TRY_WITH(classify(graph, *executor, data, options), what).accuracy();
}

} // namespace

std::vector<StudyFormat> study_formats() {
  const NumberFormat int8, e4m3{.type = DType::kFloat8E4M3FN}, e5m2{.type = DType::kFloat8E5M2};
  return {
      {"int8", int8, int8, {}},
      {"E5M2 direct", e5m2, e5m2, {}},
      {"E4M3", e4m3, e4m3, {}},
      {"E3M4", e4m3, e4m3, {.weights = &kE3M4Paper, .activations = &kE3M4Paper}},
      {"E4M3/E3M4", e4m3, e4m3, {.weights = &kE3M4Paper}},
  };
}

Result<std::vector<SmallNetwork>> networks_named(std::span<const std::string> patterns) {
  std::vector<SmallNetwork> out;
  std::vector<std::string> known;
  const auto named = [](const std::string& pattern) {
    return [&pattern](const SmallNetwork& what) { return glob_match(pattern, what.name); };
  };
  for (const SmallNetwork& what : small_networks()) {
    known.emplace_back(what.name);
    if (patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                        [&](const auto& pattern) { return named(pattern)(what); }))
      out.push_back(what);
  }
  for (const std::string& pattern : patterns)
    if (std::none_of(out.begin(), out.end(), named(pattern)))
      return error("--networks: no network is called \"{}\"{}", pattern,
                   suggestion(pattern, known));
  return out;
}

void StudyFlags::define(CLI::App& app) {
  app.add_option("-o,--output", folder_, "folder for networks, tables and figures")->required();
  app.add_option("--images", images_, "data set that networks for images learn, kind:path")
      ->capture_default_str();
}

Status StudyFlags::check(const std::vector<std::string>& results, const Common& common) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) return error("folder {}: {}", folder_, failed.message());
  for (const std::string& name : results)
    OCTET_TRY(check_output(path(name), {images_}, common));
  return ok_status();
}

std::string StudyFlags::path(const std::string& name) const {
  return (fs::path(folder_) / name).string();
}

Result<StudyNetwork> StudyFlags::with_data(const SmallNetwork& what) const {
  StudyNetwork out{.what = what};
  const std::string data =
      what.task.empty() ? images_ : "generated-tokens:" + std::string(what.task);
  out.train = OCTET_TRY(open_dataset(data, Split::kTrain));
  out.test = OCTET_TRY(open_dataset(data, Split::kTest));
  return out;
}

Result<StudyNetwork> StudyFlags::fresh(const SmallNetwork& what, const Common& common) const {
  StudyNetwork out = OCTET_TRY(with_data(what));
  out.graph = OCTET_TRY(make_small_network(what.name, common.seed));
  return out;
}

TrainOptions StudyFlags::training(const SmallNetwork& what, const Common& common) const {
  TrainOptions out;
  out.optimizer.lr = kStudyRate;
  out.epochs = what.task.empty() ? kImageEpochs : kTokenEpochs;
  out.batch_size = kStudyBatch;
  out.seed = common.seed;
  out.threads = common.threads;
  out.keep_best = false;
  return out;
}

Result<StudyNetwork> StudyFlags::network(const SmallNetwork& what, const Common& common) const {
  StudyNetwork out = OCTET_TRY(with_data(what));
  const std::string file = path(std::string(what.name) + ".onnx");
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    out.graph = OCTET_TRY(open_model(file, common));
  } else {
    const Interruptible interruptible;
    ProgressLine progress(std::string(what.name), "steps");
    TrainOptions options = training(what, common);
    options.cancel = &interruptible.token();
    options.on_step = [&](const TrainProgress& p) {
      progress.update(p.step, p.steps, fmt::format("loss {:.4f}", p.loss));
    };
    TrainApi* api = OCTET_TRY(train_api());
    TrainedModel model =
        OCTET_TRY_WITH(api->train(OCTET_TRY(make_small_network(what.name, common.seed)), *out.train,
                                  nullptr, options),
                       std::string(what.name));
    if (model.report.cancelled)
      return Error("stopped by the user; networks that are trained stay in " + folder_,
                   ErrorCode::kCancelled);
    OCTET_TRY(save_onnx(model.graph, file));
    out.graph = std::move(model.graph);
  }
  out.accuracy = OCTET_TRY(measured(out.graph, *out.test, common, "float"));
  return out;
}

Result<double> StudyFlags::accuracy(const StudyNetwork& network,
                                    const Graph& graph,
                                    const StudyFormat& format,
                                    const Common& common) const {
  QuantizeOptions options;
  options.samples = kCalibrated;
  options.batch_size = kStudyBatch;
  options.threads = common.threads;
  if (!network.what.task.empty()) options.mask_input = "attention_mask";
  options.executor = measuring_executor(common, true);
  options.weights = format.weights;
  options.activations = format.activations;
  options.steps = format.steps;
  const QuantizationPlan plan = OCTET_TRY(plan_quantization(graph, *network.train, options));
  const bool simulated =
      format.simulated.weights != nullptr || format.simulated.activations != nullptr;
  Graph quantized =
      OCTET_TRY(quantize(graph, plan, simulated ? WeightStorage::kFloat : WeightStorage::kTarget));
  if (simulated) quantized = OCTET_TRY(simulate_formats(std::move(quantized), format.simulated));
  return measured(quantized, *network.test, common, format.name.c_str());
}

} // namespace octet::cli
