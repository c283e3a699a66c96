// SPDX-License-Identifier: Apache-2.0
// octet pretrain bert: a BERT that predicts masked tokens and next sentences, from plain text.
#include "cli/bert_training.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "data/kinds.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/text_dataset.h"

namespace octet::cli {
namespace {

class PretrainBert final : public Command {
 public:
  std::string_view name() const override { return "pretrain bert"; }
  std::string_view summary() const override {
    return "train a BERT on plain text: masked tokens and next sentences";
  }
  std::string_view example() const override {
    return "octet pretrain bert --text corpus.txt --vocab 8000 --size mini -o lm/";
  }

  void define(CLI::App& app) override {
    app.add_option("-o,--output", output_, "model folder to write (or an ONNX file)")->required();
    app.add_option("--text", text_, "a text file, or kind:path; see docs/data.md")
        ->capture_default_str();
    add_count_option(app, "--limit", limit_, "documents to train on, drawn by the seed; 0: all");
    app.add_flag("--no-next-sentence", no_next_sentence_, "masked tokens only");
    add_number_option(app, "--mask-rate", masking_.rate, "share of the tokens that is predicted",
                      0.01, 0.9)
        ->capture_default_str();
    app.add_flag("--whole-word", masking_.whole_word, "mask the pieces of a word together");
    bert_.define(app);
    training_.define(app, false);
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(bert_.check());
    OCTET_TRY(
        check_model_output(output_, is_bert_folder(output_), bert_.used_files(text_), common));
    OCTET_TRY(training_.check(output_, common));
    const std::string spec = corpus_spec(text_);
    if (!is_text_spec(spec)) return unknown_text(spec);
    auto texts = OCTET_TRY(open_corpus(spec, Split::kTrain));
    const Tokenizer tokenizer = OCTET_TRY(bert_.tokenizer(*texts, common));
    BertOptions head;
    head.head = no_next_sentence_ ? BertHead::kMaskedLm : BertHead::kPretraining;
    head.gather_masked = true; // only what is predicted goes through the widest product
    const Graph graph = OCTET_TRY(bert_.graph(head, tokenizer, common));
    const ModelData rows = {.spec = spec,
                            .split = Split::kTrain,
                            .max_length = bert_.row_length(graph),
                            .limit = limit_,
                            .masking = masking_};
    TrainingData data;
    data.examples = OCTET_TRY(make_model_data(std::move(texts), rows, graph, tokenizer, common));
    TrainOptions options = training_.options();
    options.losses = language_losses(graph);
    options.settings = settings(graph, spec);
    const TrainedModel model = OCTET_TRY(training_.train(graph, data, output_, common, options));
    const auto write = [&](const std::string& record) -> Status {
      BertOptions everywhere = OCTET_TRY(bert_options(model.graph));
      everywhere.gather_masked = false;
      const BertTransfer written = OCTET_TRY(rebuild_bert(model.graph, everywhere));
      return write_bert(written.graph, tokenizer, bert_.row_length(graph), record, output_, common);
    };
    return training_.conclude(model, output_, options.settings, common, write);
  }

 private:
  std::vector<RunSetting> settings(const Graph& graph, const std::string& spec) const {
    std::vector<RunSetting> out = bert_.settings(graph);
    out.insert(out.begin(), {{"command", "pretrain bert"}, {"data set", spec}});
    out.insert(out.end(), {{"mask rate", fmt::format("{}", masking_.rate)},
                           {"whole words", fmt::format("{}", masking_.whole_word)},
                           {"next sentences", fmt::format("{}", !no_next_sentence_)}});
    return out;
  }

  std::string output_, text_ = "reviews";
  int64_t limit_ = 0;
  bool no_next_sentence_ = false;
  MaskingOptions masking_;
  BertFlags bert_{"mini"};
  TrainFlags training_{{.epochs = 1,
                        .lr = 5e-4,
                        .batch = 32,
                        .optimizer = "adamw",
                        .schedule = "linear",
                        .test_data = false}};
};

} // namespace

Command& pretrain_bert_command() {
  static PretrainBert command;
  return command;
}

} // namespace octet::cli
