// SPDX-License-Identifier: Apache-2.0
// octet engine build: a TensorRT engine from a model, and what it made of the layers.
#include <chrono>
#include <filesystem>

#include "cli/command.h"
#include "cli/engine_build_report.h"
#include "cli/engine_calibrate.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/random_inputs.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/model_folder.h"

namespace octet::cli {
namespace {

class EngineBuild final : public Command {
 public:
  std::string_view name() const override { return "engine build"; }
  std::string_view summary() const override { return "build a TensorRT engine from a model"; }
  std::string_view example() const override {
    return "octet engine build cnn.onnx --shape x=1x1x28x28:64x1x28x28:256x1x28x28 "
           "--calibrate entropy --data fashion-mnist:DIR --precision fp16 --timing-cache trt.cache "
           "-o cnn.engine";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option("-o,--output", output_, "the engine's file")->required();
    add_list_option(app, "--shape", shapes_,
                    "INPUT=LEAST:BEST:MOST of an input of open shape, each like 1x128");
    add_list_option(app, "--precision", precisions_,
                    "fp32, tf32, fp16, bf16, fp8, int8, of which layers may run in several; fp32 "
                    "without tf32 turns that off; int8 and fp8 follow from Q/DQ in the file",
                    ',');
    app.add_flag("--strongly-typed", options_.strongly_typed,
                 "layers run in the types that the file has, as always from TensorRT 11 on");
    calibration_.define(app);
    add_count_option(app, "--workspace", workspace_mb_,
                     "largest scratch memory in MB, 0: TensorRT's own", {0, 1 << 20});
    add_count_option(app, "--level", level_, "how long the builder searches; TensorRT's own is 3",
                     {0, 5});
    app.add_option("--timing-cache", timing_cache_,
                   "file of measured kernels: read if it is there, and added to");
    app.add_option("--report", report_file_, "write what --json prints into a file");
    app.add_option("--layers", layers_file_, "write the engine's layers as JSON");
    app.add_option("--target", target_,
                   "whose rules to predict with; default: the TensorRT that is installed");
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_options(common));
    EngineApi* api = OCTET_TRY(engine_api());
    const std::string version = api->tensorrt_version();
    const std::string target = OCTET_TRY(engine_target(target_, version));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    OCTET_TRY_WITH(set_options(graph), model_);
    OCTET_TRY_WITH(engine_flags(version, options_), model_); // before data is opened
    const auto begin = std::chrono::steady_clock::now();
    const BuiltEngine built = OCTET_TRY(build(*api, graph, common));
    EngineBuildReport report;
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    OCTET_TRY(write(built, common));
    calibration_.finish(version);
    report.engine = output_;
    report.size_bytes = built.engine.size();
    report.version = version;
    report.device = built.device;
    report.flags = built.flags;
    report.timing_cache = built.timing_cache_use;
    report.calibrated = calibration_.calibrator().has_value();
    report.layers = OCTET_TRY(make_engine_report(graph, model_, target, built.layers));
    review_precisions(graph, calibration_.missing(), report);
    const std::string json = json_text(build_report_json(report, calibration_.json()));
    if (!report_file_.empty()) OCTET_TRY(write_file(report_file_, json + "\n", overwrite(common)));
    fmt::print("{}", common.json ? json + "\n" : build_report_text(report, calibration_.text()));
    return Answer::kDone;
  }

 private:
  static Overwrite overwrite(const Common& common) {
    return common.force ? Overwrite::kYes : Overwrite::kNo;
  }

  /// What can be told before TensorRT is loaded.
  Status check_options(const Common& common) {
    for (const std::string& text : precisions_)
      options_.precisions.push_back(OCTET_TRY_WITH(parse_engine_precision(text), "--precision"));
    UsedFiles used = {model_, target_, calibration_.data()};
    for (const std::string* file : {&output_, &layers_file_, &report_file_}) {
      if (file->empty()) continue;
      OCTET_TRY(check_output(*file, used, common));
      used.push_back(*file);
    }
    if (!timing_cache_.empty()) OCTET_TRY(check_unused(timing_cache_, used, common));
    used.push_back(timing_cache_);
    OCTET_TRY(calibration_.check(used, common));
    options_.calibrator = calibration_.calibrator();
    return ok_status();
  }

  Status set_options(const Graph& graph) {
    options_.workspace_bytes = workspace_mb_ << 20;
    if (level_ >= 0) options_.optimization_level = level_;
    for (const NodeId id : OCTET_TRY(graph.topological())) {
      const Node& node = graph.node(id);
      if (node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear") continue;
      const bool told = node.inputs.size() > 2 && node.input(2).valid();
      const DType codes = told ? graph.value(node.input(2)).type.type : DType::kInt8;
      (codes == DType::kFloat8E4M3FN ? options_.fp8_codes : options_.int8_codes) = true;
    }
    for (const std::string& item : shapes_)
      options_.shapes.push_back(OCTET_TRY(parse_range(graph, item)));
    if (!timing_cache_.empty()) options_.timing_cache = [this] { return read_timings(); };
    return ok_status();
  }

  /// Empty where there is no file.
  Result<std::string> read_timings() const {
    constexpr size_t kLargest = size_t{1} << 30;
    if (!std::filesystem::exists(timing_cache_)) return std::string();
    return read_file(timing_cache_, kLargest);
  }

  /// x=1x128:8x128:32x128; one shape alone is all three.
  static Result<EngineShapeRange> parse_range(const Graph& graph, const std::string& item) {
    const size_t equals = item.rfind('=');
    if (equals == std::string::npos)
      return error("--shape {}: want INPUT=LEAST:BEST:MOST, such as x=1x128:8x128:32x128", item);
    EngineShapeRange out{item.substr(0, equals), {}, {}, {}};
    std::vector<Shape> parts;
    for (size_t begin = equals + 1; begin <= item.size();) {
      const size_t end = std::min(item.find(':', begin), item.size());
      const InputShapes one =
          OCTET_TRY(parse_input_shapes(graph, {out.input + "=" + item.substr(begin, end - begin)}));
      parts.push_back(one.begin()->second);
      begin = end + 1;
    }
    if (parts.size() != 1 && parts.size() != 3)
      return error("--shape {}: {} shapes; want LEAST:BEST:MOST, or one that is all three", item,
                   parts.size());
    out.least = parts.front();
    out.best = parts[parts.size() / 2];
    out.most = parts.back();
    return out;
  }

  Result<BuiltEngine> build(EngineApi& api, const Graph& graph, const Common& common) {
    ProgressLine progress("build", "steps");
    const Interruptible interruptible;
    options_.cancel = &interruptible.token();
    options_.warn = [&](std::string_view text) { progress.line("TensorRT: " + std::string(text)); };
    options_.progress = [&](std::string_view phase, int64_t done, int64_t total) {
      progress.update(done, total, phase);
    };
    OCTET_TRY(calibration_.open(
        graph, model_, api.tensorrt_version(),
        [&](const std::string& line) { progress.line(line); },
        [&](int64_t done, int64_t total) {
          progress.update(done, total, "calibration");
          return !interruptible.stopped();
        },
        common));
    options_.calibration = calibration_.calibration();
    Result<BuiltEngine> built = api.build(OCTET_TRY(resolve_model(model_)), options_);
    if (built.ok() && built->timing_cache_use == TimingCacheUse::kRefused && !common.force)
      progress.line(timing_cache_ + ": is left as it is; --force writes a new one in its place");
    return built;
  }

  Status write(const BuiltEngine& built, const Common& common) const {
    OCTET_TRY(write_file(output_, built.engine, overwrite(common)));
    if (!layers_file_.empty()) OCTET_TRY(write_file(layers_file_, built.layers, overwrite(common)));
    // One that is of use is added to; one that is not may be another build's, or no cache at all.
    const bool keep = built.timing_cache_use == TimingCacheUse::kRefused && !common.force;
    if (!timing_cache_.empty() && !built.timing_cache.empty() && !keep)
      OCTET_TRY(write_file(timing_cache_, built.timing_cache, Overwrite::kYes));
    return ok_status();
  }

  std::string model_, output_, timing_cache_, layers_file_, report_file_, target_;
  std::vector<std::string> shapes_, precisions_;
  int64_t workspace_mb_ = 0;
  int level_ = -1;
  EngineBuildOptions options_;
  EngineCalibrationOptions calibration_;
};

} // namespace

Command& engine_build_command() {
  static EngineBuild command;
  return command;
}

} // namespace octet::cli
