// SPDX-License-Identifier: Apache-2.0
// octet train bert: a BERT classifier of texts, from a pretrained encoder or from nothing.
#include "cli/bert_training.h"
#include "cli/data_check.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "core/string_util.h"
#include "data/kinds.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace octet::cli {
namespace {

/// The rate that fine-tunes a pretrained encoder leaves a new one where it starts.
constexpr double kRateOfNewModel = 1e-3;

class TrainBert final : public Command {
 public:
  std::string_view name() const override { return "train bert"; }
  std::string_view summary() const override { return "train a BERT to classify texts"; }
  std::string_view example() const override {
    return "octet train bert --task classify --data imdb:DIR --from minilm/ --epochs 1 -o bert/";
  }

  void define(CLI::App& app) override {
    app.add_option("-o,--output", output_, "model folder to write (or an ONNX file)")->required();
    app.add_option("--task", task_, "classify")->capture_default_str();
    app.add_option("--data", data_, "labelled texts, kind:path; see docs/data.md")
        ->capture_default_str();
    training_.define_limits(app);
    bert_.define(app);
    training_.define(app, false);
    rate_ = app.get_option("--lr");
  }

  Result<Answer> run(const Common& common) override {
    if (task_ != "classify")
      return error("task \"{}\" is not known{}; octet pretrain bert makes language models", task_,
                   suggestion(task_, std::vector<std::string>{"classify"}));
    if (!is_text_spec(data_)) return unknown_text(data_);
    OCTET_TRY(bert_.check());
    OCTET_TRY(
        check_model_output(output_, is_bert_folder(output_), bert_.used_files(data_), common));
    OCTET_TRY(training_.check(output_, common));
    auto texts = OCTET_TRY(open_text(data_, Split::kTrain));
    if (texts->classes().empty())
      return error("{} has no labels; name their column with label=COLUMN", data_);
    const Tokenizer tokenizer = OCTET_TRY(bert_.tokenizer(*texts, common));
    BertOptions head;
    head.head = BertHead::kClassification;
    head.labels = texts->classes();
    const Graph graph = OCTET_TRY(bert_.graph(head, tokenizer, common));
    const OpenData open = [&](Split split,
                              int64_t limit) -> Result<std::shared_ptr<const Dataset>> {
      const ModelData rows = {data_, split, bert_.row_length(graph), limit, {}};
      auto part = split == Split::kTrain ? std::move(texts) : OCTET_TRY(open_text(data_, split));
      return make_model_data(std::move(part), rows, graph, tokenizer, common);
    };
    const TrainingData data = OCTET_TRY(training_.open_data(open));
    OCTET_TRY(check_training_data(graph, *data.examples, data.test.get(), data_));
    TrainOptions options = training_.options();
    options.settings = bert_.settings(graph);
    options.settings.insert(options.settings.begin(),
                            {{"command", "train bert"}, {"data set", data_}});
    if (bert_.is_new() && rate_->count() == 0) {
      options.optimizer.lr = kRateOfNewModel;
      fmt::print(stderr, "a new model: the highest learning rate is {} (--lr)\n", kRateOfNewModel);
    }
    const TrainedModel model = OCTET_TRY(training_.train(graph, data, output_, common, options));
    return training_.conclude(model, output_, options.settings, common, [&](const auto& record) {
      return write_bert(model.graph, tokenizer, bert_.row_length(graph), record, output_, common);
    });
  }

 private:
  std::string output_, task_ = "classify", data_ = "reviews";
  CLI::Option* rate_ = nullptr;
  BertFlags bert_{"tiny"};
  TrainFlags training_{{.epochs = 1, .lr = 1e-4, .batch = 32, .optimizer = "adamw"}};
};

} // namespace

Command& train_bert_command() {
  static TrainBert command;
  return command;
}

} // namespace octet::cli
