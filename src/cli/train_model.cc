// SPDX-License-Identifier: Apache-2.0
// octet train MODEL: trains any float network, an ONNX file, a model folder or a textual graph.
#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/loss.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/ready_model.h"
#include "cli/text_model.h"
#include "cli/training.h"
#include "core/format.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/bert.h"
#include "octet/images.h"
#include "octet/model_folder.h"
#include "octet/models.h"
#include "octet/passes.h"

namespace octet::cli {
namespace {

constexpr int64_t kMostClasses = 1 << 20;

class TrainModel final : public Command {
 public:
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override {
    return "train a model: an ONNX file or a textual graph; or a CNN, a BERT, a vocabulary";
  }
  std::string_view example() const override {
    return "octet train resnet18.onnx --data npz:mine.npz --classes 3 --epochs 3 -o mine.onnx; "
           "octet train net.txt --data npz:mine.npz --loss mean-square -o net.onnx";
  }

  void define(CLI::App& app) override {
    // Not marked as required: the commands under this one have their own.
    app.add_option("model", model_, "float model: ONNX file, folder, or graph as text");
    app.add_option("-o,--output", output_, "ONNX file to write, or a model folder");
    app.add_option("--data", data_, "labelled data, kind:path; see docs/data.md");
    loss_.define(app);
    add_count_option(app, "--classes", classes_,
                     "fresh last layer for so many classes, or numbers to learn",
                     {1, kMostClasses});
    app.add_flag("--freeze-batch-norm", freeze_statistics_,
                 "batch norms use and keep the statistics that they have");
    add_max_length(app, max_length_);
    add_zeros(app, zeros_);
    training_.define_limits(app);
    training_.define(app, false);
  }

  Result<Answer> run(const Common& common) override {
    if (model_.empty())
      return error(
          "no model was named: octet train MODEL.onnx --data KIND:PATH -o OUTPUT, or octet "
          "train cnn, bert or vocabulary; see octet train --help");
    std::error_code ignored;
    if (!std::filesystem::exists(model_, ignored))
      return error(ErrorCode::kNotFound,
                   "{}: there is no such model, nor a command octet train {}{}", model_, model_,
                   suggestion(model_, std::vector<std::string>{"cnn", "bert", "vocabulary"}));
    if (data_.empty())
      return error("no data was named; --data npz:FILE, images:DIR, imdb:DIR and others are in "
                   "docs/data.md");
    OCTET_TRY(check_model_output(output_, writes_folder(output_, model_), {model_, data_}, common));
    OCTET_TRY(training_.check(output_, common));
    const Graph graph = OCTET_TRY(open(common));
    const TrainingData data = OCTET_TRY(training_.open_data([&](Split split, int64_t limit) {
      return open_model_data({.spec = data_,
                              .split = split,
                              .max_length = max_length_,
                              .limit = limit,
                              .masking = {},
                              .zeros = zeros_},
                             graph, model_, common);
    }));
    OCTET_TRY(check_classes_fit(graph, *data.examples));
    OCTET_TRY_WITH(check_training_data(graph, *data.examples, data.test.get(), data_), model_);
    TrainOptions options = training_.options();
    options.losses = OCTET_TRY(loss_.choose(graph, *data.examples));
    options.freeze_statistics = freeze_statistics_;
    options.settings = {{"command", "train"}, {"data set", data_}, {"from", model_}};
    TrainedModel model =
        OCTET_TRY_WITH(training_.train(graph, data, output_, common, options), model_);
    OCTET_TRY(describe(*data.examples, options.losses.front().kind, model.graph));
    const auto write = [&](const std::string& record) -> Status {
      // Names of classes beside the source are those of another last layer, or of none.
      const bool other = classes_ > 0 || options.losses.front().kind == LossKind::kMeanSquare;
      std::vector<std::string> left_out;
      if (other) left_out = {"labels.txt"};
      return write_model(model.graph, output_, common, model_, record, nlohmann::json::object(),
                         left_out);
    };
    return training_.conclude(model, output_, options.settings, common, write);
  }

 private:
  /// The model as it is trained: of float, for any batch, with the head that was asked for.
  Result<Graph> open(const Common& common) {
    Graph graph = is_text_model(model_) ? OCTET_TRY(open_text_model(model_, nullptr, common.seed))
                                        : OCTET_TRY(open_model(model_, common));
    OCTET_TRY(check_float(graph, model_,
                          "training is of the float model that it came from; octet "
                          "qat trains through Q/DQ"));
    const bool is_bert = bert_options(graph).ok();
    if (classes_ > 0 && is_bert)
      return error("{}: is a BERT; octet train bert --from {} gives it the classes of its data",
                   model_, model_);
    OCTET_TRY_WITH(make_ready(graph, model_, common), model_);
    if (classes_ == 0 && !loss_.is_mean_square()) OCTET_TRY(take_labels(graph));
    if (classes_ > 0) {
      const ReplacedHead head = OCTET_TRY_WITH(replace_head(graph, classes_, common.seed), model_);
      fmt::print(stderr, "node {}: {} outputs instead of {}, fresh: {}\n", head.node, classes_,
                 head.old_classes, join(head.fresh, ", "));
    }
    if (is_bert) {
      const std::string recipe =
          training_.use_defaults({.epochs = 1, .lr = 5e-5, .batch = 32, .optimizer = "adamw"});
      if (!recipe.empty()) fmt::print(stderr, "a BERT: {}\n", recipe);
    }
    return graph;
  }

  /// Errors: names in labels.txt that are more or fewer than the model's classes.
  Status take_labels(Graph& graph) const {
    const std::vector<std::string> beside = OCTET_TRY(edited_labels(graph, model_));
    if (beside.empty()) return ok_status();
    const std::vector<std::string> inside = OCTET_TRY(class_names(graph));
    if (beside.size() != inside.size())
      return error("{}: labels.txt names {}, and the model tells {} classes apart; give each class "
                   "a line, or remove the file",
                   model_, counted(std::ssize(beside), "label"), inside.size());
    fmt::print(stderr, "{}: classes are called as in labels.txt: {} (the model says {})\n", model_,
               join_some(beside), join_some(inside));
    set_class_names(graph, beside);
    return ok_status();
  }

  /// With the way out that there is here: another last layer.
  Status check_classes_fit(const Graph& graph, const Dataset& data) const {
    const auto known = std::ssize(data.classes());
    const TypeInfo& type = graph.value(graph.outputs()[0]).type;
    const int64_t columns =
        type.has_rank() && type.rank() == 2 ? type.shape->back().maybe_value().value_or(0) : 0;
    if (columns > 1 && known > columns)
      return error("{}: tells {} classes apart, and {} has {}; --classes {} gives it a fresh last "
                   "layer of so many",
                   model_, columns, data_, known, known);
    return classes_ > 0 ? ok_status() : check_labels(data, graph, model_);
  }

  static bool has_one_column(const Graph& graph) {
    const TypeInfo& type = graph.value(graph.outputs()[0]).type;
    return type.has_rank() && (type.rank() < 2 || type.shape->back().maybe_value() == 1);
  }

  Status describe(const Dataset& data, LossKind loss, Graph& graph) const {
    set_trained_loss(graph, loss);
    if (const ImagePreparation* images = data.images()) set_image_preparation(graph, *images);
    if (max_length_ > 0) set_trained_length(graph, max_length_);
    const bool of_squares = loss == LossKind::kMeanSquare;
    if (data.classes().empty() || (of_squares && has_one_column(graph))) {
      if (classes_ > 0 || of_squares) set_class_names(graph, {});
      return ok_status();
    }
    // The names of the classes before are those of another last layer.
    const bool named = !OCTET_TRY(class_names(graph, model_)).empty();
    if (named && classes_ == 0) return ok_status();
    std::vector<std::string> names = data.classes();
    for (int64_t c = std::ssize(names); c < classes_; ++c)
      names.push_back(std::to_string(c));
    set_class_names(graph, names);
    return ok_status();
  }

  std::string model_, output_, data_;
  int64_t classes_ = 0, max_length_ = 0;
  bool freeze_statistics_ = false;
  std::vector<std::string> zeros_;
  LossFlag loss_;
  TrainFlags training_{{.epochs = 5, .lr = 1e-3, .batch = 64, .optimizer = "adamw"}};
};

} // namespace

Command& train_model_command() {
  static TrainModel command;
  return command;
}

} // namespace octet::cli
