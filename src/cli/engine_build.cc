// SPDX-License-Identifier: Apache-2.0
// octet engine build: a TensorRT engine from a model, and what it made of the layers.
#include <chrono>
#include <filesystem>

#include "cli/command.h"
#include "cli/engine_report.h"
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
    return "octet engine build cnn.int8.onnx --shape x=1x1x28x28:64x1x28x28:256x1x28x28 "
           "--timing-cache trt.cache -o cnn.engine";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option("-o,--output", output_, "the engine's file")->required();
    add_list_option(app, "--shape", shapes_,
                    "INPUT=LEAST:BEST:MOST of an input of open shape, each like 1x128");
    app.add_option("--typing", typing_,
                   "weak: the builder chooses precisions; strong: the file's types; default: weak "
                   "before TensorRT 11")
        ->check(CLI::IsMember({"weak", "strong"}));
    app.add_flag("--fp16", options_.fp16, "weakly typed: float layers may run in fp16");
    app.add_flag("--bf16", options_.bf16, "weakly typed: float layers may run in bf16");
    add_count_option(app, "--workspace", workspace_mb_,
                     "largest scratch memory in MB, 0: TensorRT's own", {0, 1 << 20});
    add_count_option(app, "--level", level_, "how long the builder searches; TensorRT's own is 3",
                     {0, 5});
    app.add_option("--timing-cache", timing_cache_,
                   "file of measured kernels: read if it is there, and written");
    app.add_option("--layers", layers_file_, "write the engine's layers as JSON");
    app.add_option("--target", target_,
                   "whose rules to predict with; default: the TensorRT that is installed");
  }

  Result<Answer> run(const Common& common) override {
    EngineApi* api = OCTET_TRY(engine_api());
    const UsedFiles used = {model_, target_};
    OCTET_TRY(check_output(output_, used, common));
    if (!layers_file_.empty())
      OCTET_TRY(check_output(layers_file_, {model_, target_, output_, timing_cache_}, common));
    if (!timing_cache_.empty())
      OCTET_TRY(check_unused(timing_cache_, {model_, target_, output_}, common));
    const std::string target = OCTET_TRY(engine_target(target_, api->tensorrt_version()));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    OCTET_TRY_WITH(set_options(graph), model_);
    const auto begin = std::chrono::steady_clock::now();
    const BuiltEngine built = OCTET_TRY(build(*api));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    OCTET_TRY(write(built, common));
    const EngineReport report = OCTET_TRY(make_engine_report(graph, model_, target, built.layers));
    if (common.json) {
      nlohmann::ordered_json out = {{"engine", output_},
                                    {"size_bytes", built.engine.size()},
                                    {"seconds", seconds},
                                    {"tensorrt", api->tensorrt_version()}};
      out.update(report_json(report));
      fmt::print("{}\n", json_text(out));
    } else {
      fmt::print("{}{}: {}, built by TensorRT {} in {}\n",
                 nodes_text(report, ShowNodes::kOtherwise), output_,
                 bytes_text(static_cast<int64_t>(built.engine.size())), api->tensorrt_version(),
                 duration_text(seconds));
    }
    return Answer::kDone;
  }

 private:
  Status set_options(const Graph& graph) {
    if (typing_ == "weak") options_.typing = EngineTyping::kWeak;
    if (typing_ == "strong") options_.typing = EngineTyping::kStrong;
    options_.workspace_bytes = workspace_mb_ << 20;
    if (level_ >= 0) options_.optimization_level = level_;
    for (const NodeId id : OCTET_TRY(graph.topological())) {
      const Node& node = graph.node(id);
      if (node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear") continue;
      const bool told = node.inputs.size() > 2 && node.input(2).valid();
      const DType codes = told ? graph.value(node.input(2)).type.type : DType::kInt8;
      (codes == DType::kFloat8E4M3FN ? options_.fp8 : options_.int8) = true;
    }
    for (const std::string& item : shapes_)
      options_.shapes.push_back(OCTET_TRY(parse_range(graph, item)));
    if (!timing_cache_.empty() && std::filesystem::exists(timing_cache_))
      options_.timing_cache = OCTET_TRY(read_file(timing_cache_, size_t{1} << 30));
    return ok_status();
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

  Result<BuiltEngine> build(EngineApi& api) {
    ProgressLine progress("build", "steps");
    const Interruptible interruptible;
    options_.cancel = &interruptible.token();
    options_.warn = [&](std::string_view text) { progress.line("TensorRT: " + std::string(text)); };
    options_.progress = [&](std::string_view phase, int64_t done, int64_t total) {
      progress.update(done, total, phase);
    };
    return api.build(OCTET_TRY(resolve_model(model_)), options_);
  }

  Status write(const BuiltEngine& built, const Common& common) const {
    const Overwrite overwrite = common.force ? Overwrite::kYes : Overwrite::kNo;
    OCTET_TRY(write_file(output_, built.engine, overwrite));
    if (!layers_file_.empty()) OCTET_TRY(write_file(layers_file_, built.layers, overwrite));
    if (!timing_cache_.empty() && !built.timing_cache.empty())
      OCTET_TRY(write_file(timing_cache_, built.timing_cache, Overwrite::kYes));
    return ok_status();
  }

  std::string model_, output_, typing_, timing_cache_, layers_file_, target_;
  std::vector<std::string> shapes_;
  int64_t workspace_mb_ = 0;
  int level_ = -1;
  EngineBuildOptions options_;
};

} // namespace

Command& engine_build_command() {
  static EngineBuild command;
  return command;
}

} // namespace octet::cli
