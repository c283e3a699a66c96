// SPDX-License-Identifier: Apache-2.0
// octet view: a picture of a model on one page, alone or beside another model or an engine.
#include <algorithm>

#include "cli/command.h"
#include "cli/debug_setup.h"
#include "cli/engine_report.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "ops/infer.h"
#include "view/measured.h"
#include "view/page.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/session.h"

namespace octet::cli {
namespace {

constexpr size_t kLargestFile = size_t{1} << 30;

class View final : public Command {
 public:
  std::string_view name() const override { return "view"; }
  std::string_view summary() const override {
    return "a picture of a model, or of two beside each other, as one HTML page";
  }
  std::string_view example() const override {
    return "octet view cnn.onnx cnn.int8.onnx --target octet --data fashion-mnist:DIR -o view.html";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option(
        "other", other_,
        "another model, or the layers of an engine that was built from the first: JSON of "
        "octet engine build --layers or trtexec --exportLayerInfo");
    app.add_option("-o,--output", output_, "HTML file to write")->required();
    add_list_option(app, "--target", targets_,
                    "colour by the precision of each layer on these: tensorrt-10,octet", ',');
    app.add_option("--data", data_,
                   "data set, kind:path: ranges, histograms, saturation, error and times");
    add_count_option(app, "--limit", limit_, "examples of the data that are looked at", {1})
        ->capture_default_str();
    add_count_option(app, "--batch", batch_, "examples a run", {1, 65536})->capture_default_str();
    add_max_length(app, max_length_);
    app.add_option("--times", times_,
                   "times of an engine's layers: JSON of octet engine profile --times or trtexec "
                   "--exportProfile");
    app.add_flag("--draw-codes", draw_codes_,
                 "QuantizeLinear and DequantizeLinear as boxes, not as marks");
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_output(output_, {model_, other_, data_, times_}, common));
    const bool engine = is_layer_file(other_);
    if (!times_.empty() && !engine)
      return error("--times are of an engine; give its layers as the second file");
    for (const std::string& target : targets_)
      targets_known_.push_back(OCTET_TRY(parse_target(target)));
    Graph graph = OCTET_TRY(open_model(model_, common));
    OCTET_TRY_WITH(infer_types(graph), model_);
    if (engine && targets_known_.empty())
      return error(
          "a layer file does not say which TensorRT built it; add --target tensorrt-8.6 to "
          "tensorrt-11");
    const view::Codes codes = draw_codes_ ? view::Codes::kDrawn : view::Codes::kFolded;
    view::Page page;
    page.pictures.push_back(
        OCTET_TRY_WITH(view::picture_of(graph, model_, targets_known_, codes), model_));
    if (engine)
      OCTET_TRY(add_engine(graph, page));
    else if (!other_.empty())
      OCTET_TRY(add_model(graph, codes, common, page));
    else
      OCTET_TRY(measure(graph, model_, common, page.pictures.front()));
    if (engine) OCTET_TRY(measure(graph, model_, common, page.pictures.front()));
    page.data = described_;
    const view::WrittenPage written = OCTET_TRY_WITH(view::write_page(page), output_);
    OCTET_TRY(write_file(output_, written.html, common.force ? Overwrite::kYes : Overwrite::kNo));
    print_result(common, page, written);
    return Answer::kDone;
  }

 private:
  static bool is_layer_file(const std::string& path) { return path.ends_with(".json"); }

  Status add_engine(const Graph& graph, view::Page& page) const {
    const std::string target = OCTET_TRY(engine_target(targets_known_.front(), ""));
    EngineReport report = OCTET_TRY_WITH(
        make_engine_report(graph, model_, target, OCTET_TRY(read_file(other_, kLargestFile))),
        other_);
    if (!times_.empty())
      report.times =
          OCTET_TRY_WITH(parse_engine_profile(OCTET_TRY(read_file(times_, kLargestFile))), times_);
    page.pictures.push_back(view::picture_of(report.predicted, report.layers, report.nodes,
                                             report.times, other_, targets_known_));
    page.links =
        view::link_layers(page.pictures[0], page.pictures[1], report.predicted, report.nodes);
    view::mark_otherwise(page.pictures[0], page.pictures[1], report.predicted, report.layers,
                         report.nodes);
    return ok_status();
  }

  Status add_model(const Graph& graph, view::Codes codes, const Common& common, view::Page& page) {
    Graph second = OCTET_TRY(open_model(other_, common));
    OCTET_TRY_WITH(infer_types(second), other_);
    page.pictures.push_back(
        OCTET_TRY_WITH(view::picture_of(second, other_, targets_known_, codes), other_));
    page.links = view::link_models(graph, page.pictures[0], second, page.pictures[1]);
    OCTET_TRY(measure(graph, model_, common, page.pictures[0]));
    OCTET_TRY(measure(second, other_, common, page.pictures[1]));
    if (!data_.empty()) return compare(graph, second, common, page);
    return ok_status();
  }

  /// The first examples of the data, in batches that the graph takes.
  Result<CalibrationSource>
  examples(const Graph& graph, const std::string& model, const Common& common) {
    const std::shared_ptr<const Dataset> data = OCTET_TRY(
        open_model_data({data_, Split::kTest, max_length_, limit_}, graph, model, common));
    described_ =
        fmt::format("{} examples of {}", std::min(limit_, data->size()), data->description());
    return first_examples(graph, data, limit_, batch_);
  }

  /// Constants; with data each value, and the times of one batch.
  Status
  measure(const Graph& graph, const std::string& model, const Common& common, view::Picture& to) {
    OCTET_TRY_WITH(view::look_at_constants(graph, to), model);
    if (data_.empty()) return ok_status();
    const Interruptible interruptible;
    const ModelPairs pairs = view::pairs_within(graph);
    ProgressLine progress("look", "examples");
    const Looked looked =
        OCTET_TRY_WITH(look(graph, graph, pairs, OCTET_TRY(examples(graph, model, common)),
                            {.executor = measuring_executor(common, false),
                             .mask_input = padding_mask(graph, "", data_),
                             .cancel = &interruptible.token(),
                             .progress = [&](int64_t done) { progress.update(done, limit_); }}),
                       model);
    OCTET_TRY(interruptible.check());
    view::add_views(looked.values, to);
    return time_nodes(graph, model, common, to);
  }

  Status time_nodes(const Graph& graph,
                    const std::string& model,
                    const Common& common,
                    view::Picture& to) {
    constexpr int kRuns = 5;
    const auto inputs = OCTET_TRY(OCTET_TRY(examples(graph, model, common))());
    if (!inputs) return ok_status();
    const Session session =
        OCTET_TRY_WITH(Session::create(graph, {.threads = common.threads}), model);
    SessionContext context = session.context();
    OCTET_TRY_WITH(context.run(*inputs), model);
    const std::vector<double> ms = OCTET_TRY_WITH(context.profile(*inputs, kRuns), model);
    view::add_times(context.plan(), ms, to);
    return ok_status();
  }

  /// Of a float model and a quantized one, as debug sees them: what became of each value. Other
  /// pairs have no error.
  Status compare(const Graph& graph, const Graph& second, const Common& common, view::Page& page) {
    if (holds_codes(graph) || !holds_codes(second)) return ok_status();
    DebugModels options;
    options.float_model = model_;
    options.quantized_model = other_;
    options.data = data_;
    options.max_length = max_length_;
    options.limit = limit_;
    const Result<TwoModels> both = open_two_models(options, common);
    if (!both.ok()) {
      fmt::print(stderr, "octet view: no errors are shown: {}\n", both.error().text());
      return ok_status();
    }
    const Interruptible interruptible;
    ProgressLine progress("compare", "examples");
    const Looked looked =
        OCTET_TRY_WITH(look(both->prepared, both->quantized, both->pairs,
                            OCTET_TRY(examples(both->prepared, model_, common)),
                            {.executor = measuring_executor(common, true),
                             .mask_input = both->mask,
                             .cancel = &interruptible.token(),
                             .progress = [&](int64_t done) { progress.update(done, limit_); }}),
                       fmt::format("{} and {}", model_, other_));
    OCTET_TRY(interruptible.check());
    view::add_views(both->pairs, looked, both->quantized, page.pictures[1]);
    return ok_status();
  }

  void print_result(const Common& common,
                    const view::Page& page,
                    const view::WrittenPage& written) const {
    if (common.json) {
      nlohmann::ordered_json out = {{"file", output_}, {"size_bytes", written.html.size()}};
      for (size_t i = 0; i < page.pictures.size(); ++i)
        out["pictures"].push_back({{"model", page.pictures[i].title},
                                   {"boxes", written.boxes[i]},
                                   {"groups", written.groups[i]},
                                   {"layouts", written.layouts[i]}});
      if (page.pictures.size() > 1) out["links"] = page.links.size();
      fmt::print("{}\n", json_text(out));
      return;
    }
    for (size_t i = 0; i < page.pictures.size(); ++i)
      fmt::print("{}: {} in {}\n", page.pictures[i].title,
                 counted(static_cast<int64_t>(written.boxes[i]), "node"),
                 counted(static_cast<int64_t>(written.groups[i]), "drawing"));
    if (page.pictures.size() > 1)
      fmt::print("{} between them\n", counted(std::ssize(page.links), "link"));
    fmt::print("{}: {:.1f} MB; open it in a browser\n", output_,
               static_cast<double>(written.html.size()) / 1e6);
  }

  std::string model_, other_, output_, data_, times_, described_;
  std::vector<std::string> targets_, targets_known_;
  int64_t limit_ = 32, batch_ = 16, max_length_ = 0;
  bool draw_codes_ = false;
};

} // namespace

Command& view_command() {
  static View command;
  return command;
}

} // namespace octet::cli
