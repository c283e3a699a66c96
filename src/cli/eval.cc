// SPDX-License-Identifier: Apache-2.0
// octet eval: any number of models and executors in one table.
#include <algorithm>

#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/evaluate.h"
#include "cli/evaluate_lm.h"
#include "cli/evaluate_numbers.h"
#include "cli/evaluation_page.h"
#include "cli/evaluation_table.h"
#include "cli/loss.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/page_origin.h"
#include "cli/predictions.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/model_folder.h"
#include "octet/session.h"

namespace octet::cli {
namespace {

class Eval final : public Command {
 public:
  std::string_view name() const override { return "eval"; }
  std::string_view summary() const override { return "accuracy, size and speed of models"; }
  std::string_view example() const override {
    return "octet eval cnn.onnx cnn.int8.onnx --data fashion-mnist:DIR";
  }

  void define(CLI::App& app) override {
    add_list_argument(app, "models", models_, "model folders, ONNX files or weight stores");
    app.add_option("--data", data_, "data set, kind:path")->required();
    add_list_option(app, "--executor", executors_, "native, reference or torch; may be repeated");
    add_count_option(app, "--batch", options_.batch, "examples a run", {1, 65536});
    add_count_option(app, "--limit", options_.limit, "only the first examples, 0: all");
    add_max_length(app, max_length_);
    app.add_flag("--training-data", training_split_, "the training part of the data set instead");
    app.add_flag("--padded", padded_,
                 "texts: run batches with their padding, which otherwise is left out (native)");
    app.add_option("--report", report_, "write the table and charts as an HTML page");
    app.add_option("--save-predictions", predictions_,
                   "of one model: index, label, predicted class and probabilities of each example, "
                   "or its numbers; FILE.npz, .jsonl or .csv");
    add_count_option(app, "--latency-runs", options_.latency_runs, "runs of one example, 0: none");
  }

  Result<Answer> run(const Common& common) override {
    if (executors_.empty()) executors_ = {"native"};
    UsedFiles used = models_;
    used.push_back(data_);
    if (!report_.empty()) OCTET_TRY(check_output(report_, used, common));
    OCTET_TRY(check_predictions(used, common));
    if (!report_.empty()) options_.keep_probabilities = true;
    for (const std::string& executor : executors_)
      OCTET_TRY(check_executor(executor));
    std::vector<Graph> graphs;
    for (const std::string& path : models_)
      graphs.push_back(OCTET_TRY(open_inputs(path, common)));
    const auto lms = std::count_if(graphs.begin(), graphs.end(), is_language_model);
    if (lms == 0) return evaluate_models(graphs, common);
    if (!predictions_.empty())
      return error("{}: --save-predictions is of classes and numbers, and this is a language model",
                   models_[0]);
    if (lms == static_cast<std::ptrdiff_t>(graphs.size()))
      return compare<LmEvaluation>(graphs, OCTET_TRY(open_data(graphs, common)),
                                   evaluate_language_model, common);
    return Error("some of the models are language models and some are not; compare them apart");
  }

 private:
  using OpenData = std::vector<std::shared_ptr<const Dataset>>;

  /// Classifiers, or what learns numbers, which may be truth values of several classes.
  Result<Answer> evaluate_models(const std::vector<Graph>& graphs, const Common& common) const {
    const OpenData data = OCTET_TRY(open_data(graphs, common));
    if (!OCTET_TRY(has_number_labels(graphs.front(), *data.front())))
      return compare<Evaluation>(graphs, data, evaluate, common);
    if (!report_.empty())
      return error("{}: its labels are numbers; --report is of classifiers", data_);
    if (!predictions_.empty() && trained_loss(graphs.front()) == LossKind::kBinaryCrossEntropy)
      return error("{}: learned yes or no of each class by itself; octet predict --data writes "
                   "their probabilities",
                   models_.front());
    const auto results =
        OCTET_TRY(run_all<NumberEvaluation>(graphs, data, evaluate_numbers, common));
    OCTET_TRY(save_numbers(results.front(), *data.front(), common));
    common.json ? cli::print_json(results) : cli::print_table(results, *data.back());
    return Answer::kDone;
  }

  Status check_predictions(const UsedFiles& used, const Common& common) {
    if (predictions_.empty()) return ok_status();
    if (models_.size() * executors_.size() != 1)
      return error("--save-predictions is of one model with one executor; evaluate each by itself");
    if (!format_of_file(predictions_) || *format_of_file(predictions_) == PredictionFormat::kText)
      return error("--save-predictions {}: its ending says the form; name FILE.npz, FILE.jsonl or "
                   "FILE.csv",
                   predictions_);
    options_.keep_probabilities = true;
    return check_output(predictions_, used, common);
  }

  PredictionOptions prediction_options(const Dataset& data) const {
    PredictionOptions out;
    out.format = *format_of_file(predictions_);
    out.path = predictions_;
    out.all_probabilities = true;
    out.asked = data.file(0).empty() ? Asked::kExamples : Asked::kFiles;
    return out;
  }

  Status
  save_numbers(const NumberEvaluation& all, const Dataset& data, const Common& common) const {
    if (predictions_.empty()) return ok_status();
    PredictionOptions options = prediction_options(data);
    options.of_numbers = true;
    const auto writer = OCTET_TRY(PredictionWriter::create(options, common));
    const std::vector<float> given(all.given.begin(), all.given.end());
    const size_t columns = given.size() / static_cast<size_t>(all.samples);
    for (int64_t i = 0; i < all.samples; ++i) {
      const size_t begin = static_cast<size_t>(i) * columns;
      const auto wanted = all.wanted.begin() + static_cast<ptrdiff_t>(begin);
      Prediction p;
      p.index = data.position(i);
      p.file = data.file(i);
      p.numbers = std::span(given).subspan(begin, columns);
      p.wanted.assign(wanted, wanted + static_cast<ptrdiff_t>(columns));
      OCTET_TRY(writer->add(p));
    }
    return writer->finish();
  }

  Status save_predictions(const std::vector<Evaluation>& results,
                          const Graph& graph,
                          const Dataset& data,
                          const Common& common) const {
    if (predictions_.empty()) return ok_status();
    const Evaluation& all = results.front();
    const size_t classes = all.probabilities.size() / all.labels.size();
    PredictionOptions options = prediction_options(data);
    options.classes = OCTET_TRY(class_names(graph, models_.front()));
    if (options.classes.size() != classes) options.classes = data.classes();
    for (size_t c = options.classes.size(); c < classes; ++c)
      options.classes.push_back(std::to_string(c));
    options.classes.resize(classes);
    const auto writer = OCTET_TRY(PredictionWriter::create(options, common));
    for (size_t i = 0; i < all.labels.size(); ++i) {
      Prediction p;
      p.index = data.position(static_cast<int64_t>(i));
      p.file = data.file(static_cast<int64_t>(i));
      p.label = all.labels[i];
      p.probabilities = std::span(all.probabilities).subspan(i * classes, classes);
      OCTET_TRY(writer->add(p));
    }
    return writer->finish();
  }
  Status save_predictions(const std::vector<LmEvaluation>&,
                          const Graph&,
                          const Dataset&,
                          const Common&) const {
    return ok_status();
  }

  /// The data for each model, of texts in its own tokens, looked at before any of them is run.
  Result<OpenData> open_data(const std::vector<Graph>& graphs, const Common& common) const {
    const ModelData data{data_, training_split_ ? Split::kTrain : Split::kTest, max_length_,
                         options_.limit};
    OpenData out;
    for (size_t i = 0; i < graphs.size(); ++i) {
      const bool shared = i > 0 && !is_text_spec(corpus_spec(data_));
      out.push_back(
          shared
              ? out.front()
              : OCTET_TRY(open_model_data(data, graphs[i], models_[i], common).with(models_[i])));
      OCTET_TRY(check_labels(*out[i], graphs[i], models_[i]));
      OCTET_TRY_WITH(check_data(graphs[i], *out[i], data_, options_.limit), models_[i]);
    }
    return out;
  }

  /// Texts run without padding where the model allows it, with the same bits; else stderr says why
  /// not.
  Result<std::unique_ptr<Executor>> executor_for(const Graph& graph,
                                                 const std::string& kind,
                                                 const std::string& model,
                                                 const Common& common) const {
    if (kind == "native" && !padded_ && is_text_spec(corpus_spec(data_))) {
      auto packed = make_native_executor(graph, {.threads = common.threads, .packed = true});
      if (packed.ok()) return packed;
      if (packed.error().code() != ErrorCode::kUnsupported)
        return std::move(packed).error().with(model);
      fmt::print(stderr, "{}: runs with padding: {}\n", model, packed.error().text());
    }
    return executor_of(graph, model, kind, common);
  }

  /// Every model with every executor.
  template <class One, class Evaluate>
  Result<std::vector<One>> run_all(const std::vector<Graph>& graphs,
                                   const OpenData& data,
                                   Evaluate evaluate_one,
                                   const Common& common) const {
    std::vector<One> out;
    for (size_t i = 0; i < graphs.size(); ++i) {
      for (const std::string& kind : executors_) {
        const auto executor = OCTET_TRY(executor_for(graphs[i], kind, models_[i], common));
        out.push_back(
            OCTET_TRY_WITH(evaluate_one(graphs[i], *executor, *data[i], options_), models_[i]));
        out.back().model = models_[i];
        out.back().executor = kind;
        out.back().size_bytes = model_bytes(models_[i]);
      }
    }
    return out;
  }

  template <class One, class Evaluate>
  Result<Answer> compare(const std::vector<Graph>& graphs,
                         const OpenData& data,
                         Evaluate evaluate_one,
                         const Common& common) const {
    auto results = OCTET_TRY(run_all<One>(graphs, data, evaluate_one, common));
    OCTET_TRY(compare_with_first(results));
    OCTET_TRY(save_predictions(results, graphs.front(), *data.front(), common));
    OCTET_TRY(write_page(results, graphs.front(), *data.back(), common));
    common.json ? cli::print_json(results) : cli::print_table(results, *data.back());
    return Answer::kDone;
  }

  template <class Results>
  Status write_page(const Results& results,
                    const Graph& graph,
                    const Dataset& data,
                    const Common& common) const {
    if (report_.empty()) return ok_status();
    std::vector<std::string> classes = OCTET_TRY(class_names(graph, models_.front()));
    if (classes.empty()) classes = data.classes();
    return write_file(report_, evaluation_page(results, data, classes, page_origin(common)),
                      common.force ? Overwrite::kYes : Overwrite::kNo);
  }

  std::vector<std::string> models_, executors_;
  std::string data_, report_, predictions_;
  int64_t max_length_ = 0;
  bool training_split_ = false, padded_ = false;
  EvalOptions options_;
};

} // namespace

Command& eval_command() {
  static Eval command;
  return command;
}

} // namespace octet::cli
