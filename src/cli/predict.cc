// SPDX-License-Identifier: Apache-2.0
// octet predict: what a model says of texts, images or a data set.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/classifier.h"
#include "cli/command.h"
#include "cli/evaluate_numbers.h"
#include "cli/masked_guesses.h"
#include "cli/model_data.h"
#include "cli/model_images.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/predictions.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/batch_rows.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/model_folder.h"
#include "octet/text_dataset.h"

namespace octet::cli {
namespace {

constexpr int64_t kUsualImages = 32;
constexpr size_t kMaxAskedBytes = size_t{1} << 24;

/// The next line of a stream without its end; false at the end of the stream.
Result<bool> read_line(std::FILE* from, std::string& line) {
  line.clear();
  int c = 0;
  while ((c = std::getc(from)) != EOF && c != '\n') {
    line += static_cast<char>(c);
    if (line.size() > kMaxAskedBytes)
      return error("a line has more than {} bytes; break it up", kMaxAskedBytes);
  }
  if (c == '\n' && line.ends_with('\r')) line.pop_back();
  return c != EOF || !line.empty();
}

class Predict final : public Command {
 public:
  std::string_view name() const override { return "predict"; }
  std::string_view summary() const override {
    return "labels and probabilities, or numbers, for texts, images or a data set";
  }
  std::string_view example() const override {
    return "octet predict bert/ \"a film that stays with you\"\n"
           "  octet predict cnn/ shoes/ --top 3\n"
           "  octet predict bert/ --data tsv:new.tsv --format jsonl -o answers.jsonl";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder, ONNX file or weight store")->required();
    app.add_option(
           "input", inputs_,
           "texts, or for a model of images PNG and JPEG files and folders of them; none, or "
           "-: a text a line from standard input, answered as they come")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--text", text_file_, "a file with a text a line");
    add_list_option(app, "--image", images_, "PNG and JPEG files, or folders of them");
    app.add_option("--data", data_, "a data set, kind:path, labelled or not; its test part");
    app.add_flag("--training-data", training_split_, "the training part of --data instead");
    app.add_flag("--pair", pair_,
                 "two texts each: typed one behind the other, in lines with a tab between them");
    add_count_option(app, "--top", top_, "so many classes, the likeliest first", {1, 1000})
        ->capture_default_str();
    app.add_option("--format", format_,
                   "text, jsonl, csv or npz; default: by the ending of -o, else text");
    app.add_option("-o,--output", output_, "file to write instead of standard output");
    app.add_option("--vocab", vocabulary_,
                   "vocab.txt, tokenizer.json or a folder with one; default: the model's folder");
    app.add_option("--labels", labels_, "a file with a name for each class, one a line");
    app.add_option(
        "--prepare", prepare_,
        "of images, where the model does not say it or says it wrong: "
        "\"size=224&resize=256&crop=center&mean=0.485,0.456,0.406&std=0.229,0.224,0.225\"");
    add_max_length(app, max_length_);
    add_count_option(app, "--batch", batch_, "asked at once; 0: texts by themselves, images 32",
                     {0, 65536});
    app.add_option("--executor", executor_, "native, reference or torch")->capture_default_str();
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_sources());
    OCTET_TRY(choose_format(common));
    UsedFiles used = inputs_;
    used.insert(used.end(), images_.begin(), images_.end());
    used.insert(used.end(), {model_, text_file_, data_, labels_});
    if (!output_.empty()) OCTET_TRY(check_output(output_, used, common));
    Classifier classifier = OCTET_TRY(Classifier::open(model_, executor_, labels_, common));
    common_ = &common;
    if (is_language_model(classifier.graph())) return fill_masks(classifier);
    classifier_ = &classifier;
    if (!data_.empty() && !is_text_spec(data_)) {
      OCTET_TRY(predict_data());
    } else if (takes_texts(classifier.graph())) {
      if (!images_.empty()) return error("{}: takes texts, no images", model_);
      OCTET_TRY(predict_texts());
    } else {
      if (!text_file_.empty() || pair_ || !data_.empty())
        return error("{}: takes no texts; its first input is {}", model_, first_input());
      OCTET_TRY(predict_images());
    }
    if (writer_) {
      OCTET_TRY(writer_->finish());
      return Answer::kDone;
    }
    if (from_standard_input_ && output_.empty()) return Answer::kDone;
    return error("nothing was given to predict");
  }

 private:
  Status check_sources() {
    if (inputs_ == std::vector<std::string>{"-"} || text_file_ == "-") {
      inputs_.clear();
      text_file_.clear();
      from_standard_input_ = true;
    }
    const int sources = (inputs_.empty() && images_.empty() ? 0 : 1) +
                        (text_file_.empty() ? 0 : 1) + (data_.empty() ? 0 : 1) +
                        (from_standard_input_ ? 1 : 0);
    if (sources > 1)
      return error(
          "texts or images, --text, --data and - are several things to predict; give one of "
          "them");
    if (sources == 0) from_standard_input_ = true;
    if (training_split_ && data_.empty()) return error("--training-data is a part of --data");
    return ok_status();
  }

  Status choose_format(const Common& common) {
    options_.path = output_;
    options_.top = top_;
    if (!format_.empty())
      options_.format = OCTET_TRY(prediction_format(format_));
    else if (common.json)
      options_.format = PredictionFormat::kJsonLines;
    else if (const auto by_ending = format_of_file(output_))
      options_.format = *by_ending;
    if (options_.format == PredictionFormat::kNpz && output_.empty())
      return error("npz goes to a file; name it with -o FILE.npz");
    return ok_status();
  }

  std::string first_input() const {
    const Graph& graph = classifier_->graph();
    return graph.inputs().empty() ? "missing" : graph.value(graph.inputs()[0]).type.text();
  }

  /// Runs a batch and writes what it says of the first examples; more may fill up a batch that the
  /// model fixes.
  Status answer(std::span<Prediction> predictions, const Batch& batch, Asked asked) {
    const Tensor rows = OCTET_TRY(classifier_->run(batch));
    const Answers kind = classifier_->answers();
    if (!writer_) {
      options_.asked = asked;
      options_.classes = classifier_->classes();
      options_.of_numbers = kind == Answers::kNumbers;
      options_.all_probabilities = kind == Answers::kSeveral;
      if (options_.of_numbers && top_ > 1)
        return error("{}: gives numbers, no classes; --top is of classes", model_);
      writer_ = OCTET_TRY(PredictionWriter::create(options_, *common_));
    }
    const auto values = rows.data<float>();
    const auto columns = static_cast<size_t>(rows.dim(1));
    if (rows.dim(0) < std::ssize(predictions))
      return error("{}: answers {} examples with {} rows", model_, predictions.size(), rows.dim(0));
    for (size_t i = 0; i < predictions.size(); ++i) {
      Prediction& p = predictions[i];
      (kind == Answers::kNumbers ? p.numbers : p.probabilities) =
          values.subspan(i * columns, columns);
      if (kind == Answers::kNumbers) {
        p.label.reset();
      } else {
        p.wanted.clear();
        if (p.label && *p.label >= std::ssize(classifier_->classes()))
          return error("example {} has the label {}, the model has classes 0 .. {}", p.index,
                       *p.label, columns - 1);
      }
      OCTET_TRY(writer_->add(p));
    }
    return ok_status();
  }

  // Texts.

  struct Texts {
    Tokenizer tokenizer;
    TextDatasetOptions options;
    int64_t batch;
    int64_t least; ///< where the model fixes how many it takes
    std::vector<TextExample> waiting;
    int64_t next = 0; ///< index of the first that waits
  };

  Result<Tokenizer> load_tokenizer() const {
    if (!vocabulary_.empty()) return Tokenizer::load(vocabulary_);
    const Result<std::string> folder = companion_folder(model_);
    if (!folder.ok()) return error("{}, or the tokenizer with --vocab", folder.error().text());
    return Tokenizer::load(*folder);
  }

  Status predict_texts() {
    Tokenizer tokenizer = OCTET_TRY(load_tokenizer());
    const Graph& graph = classifier_->graph();
    TextDatasetOptions options =
        OCTET_TRY_WITH(text_options(graph, tokenizer, max_length_), model_);
    Texts texts{std::move(tokenizer),
                std::move(options),
                batch_for(graph, std::max<int64_t>(batch_, 1)),
                batch_for(graph, 1),
                {}};
    if (!data_.empty()) {
      OCTET_TRY(predict_source(texts));
    } else if (!text_file_.empty()) {
      OCTET_TRY_WITH(predict_file(texts), text_file_);
    } else if (from_standard_input_) {
      texts.batch = texts.least; // each answer before the next question
      OCTET_TRY_WITH(predict_lines(stdin, texts), "standard input");
    } else {
      OCTET_TRY(predict_typed(texts));
    }
    return ask(texts);
  }

  Status predict_typed(Texts& texts) {
    if (pair_ && inputs_.size() % 2 != 0)
      return error("--pair takes two texts each, {} were given", inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TextExample example{inputs_[i], pair_ ? inputs_[i + 1] : "", -1};
      if (pair_) ++i;
      OCTET_TRY(add(texts, std::move(example)));
    }
    return ok_status();
  }

  using OpenFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  Result<OpenFile> open_text_file() const {
    OpenFile file(std::fopen(text_file_.c_str(), "rb"), std::fclose);
    if (!file || std::filesystem::is_directory(text_file_))
      return error(ErrorCode::kNotFound, "cannot be read; name a file with a text a line");
    return file;
  }

  Status predict_file(Texts& texts) {
    const OpenFile file = OCTET_TRY(open_text_file());
    return predict_lines(file.get(), texts);
  }

  Status predict_lines(std::FILE* from, Texts& texts) {
    std::string line;
    for (int64_t number = 1; OCTET_TRY(read_line(from, line)); ++number) {
      TextExample example{line, "", -1};
      if (pair_) {
        const size_t tab = line.find('\t');
        if (tab == std::string::npos || line.find('\t', tab + 1) != std::string::npos)
          return error("line {} is no pair; write two texts with one tab between them", number);
        example.text = line.substr(0, tab);
        example.text2 = line.substr(tab + 1);
      }
      if (pair_ && example.text2.empty())
        return error("line {} has no second text behind the tab", number);
      OCTET_TRY(add(texts, std::move(example)));
    }
    return ok_status();
  }

  Status predict_source(Texts& texts) {
    const auto source = OCTET_TRY(open_text(data_, training_split_ ? Split::kTrain : Split::kTest));
    OCTET_TRY(
        check_classes(classifier_->classes(), model_, source->classes(), source->description()));
    pair_ = source->pairs();
    ProgressLine progress("predict", "texts");
    for (int64_t i = 0; i < source->size(); ++i) {
      OCTET_TRY(add(texts, OCTET_TRY(source->example(i))));
      if (!output_.empty()) progress.update(i + 1, source->size());
    }
    return ok_status();
  }

  Status add(Texts& texts, TextExample example) {
    texts.waiting.push_back(std::move(example));
    return std::ssize(texts.waiting) < texts.batch ? ok_status() : ask(texts);
  }

  Status ask(Texts& texts) {
    if (texts.waiting.empty()) return ok_status();
    std::vector<Prediction> predictions;
    for (const TextExample& text : texts.waiting) {
      Prediction& p = predictions.emplace_back();
      p.index = texts.next++;
      p.text = text.text;
      p.text2 = text.text2;
      if (text.label >= 0) p.label = text.label;
    }
    while (std::ssize(texts.waiting) < texts.least)
      texts.waiting.push_back(texts.waiting.back());
    const Batch batch = OCTET_TRY(text_batch(texts.waiting, texts.tokenizer, texts.options));
    texts.waiting.clear();
    return answer(predictions, batch, pair_ ? Asked::kPairs : Asked::kTexts);
  }

  // Images and other data sets.

  Status predict_images() {
    std::vector<std::string> files;
    images_.insert(images_.end(), inputs_.begin(), inputs_.end());
    if (images_.empty())
      return error("{}: takes {}; name images (files or folders), or a data set with --data",
                   model_, first_input());
    for (const std::string& path : images_) {
      std::error_code ignored;
      if (!std::filesystem::exists(path, ignored))
        return error(ErrorCode::kNotFound,
                     "{}: there is no such file or folder, and {} takes images", path, model_);
      if (!std::filesystem::is_directory(path, ignored)) {
        files.push_back(path);
        continue;
      }
      const std::vector<std::string> inside = OCTET_TRY(image_files_in(path));
      files.insert(files.end(), inside.begin(), inside.end());
    }
    const ImagePreparation known = OCTET_TRY(model_images(classifier_->graph(), model_, prepare_));
    return predict_dataset(*OCTET_TRY(open_image_files(std::move(files), known)));
  }

  Status predict_data() {
    ModelData data{data_, training_split_ ? Split::kTrain : Split::kTest, max_length_};
    if (!prepare_.empty())
      return error("--prepare is for images that are named; write images:DIR?{}", prepare_);
    const auto examples = OCTET_TRY(open_model_data(data, classifier_->graph(), model_, *common_));
    OCTET_TRY(check_classes(classifier_->classes(), model_, examples->classes(),
                            examples->description()));
    return predict_dataset(*examples);
  }

  Status predict_dataset(const Dataset& data) {
    const BatchRows rows(classifier_->graph(), data, batch_ > 0 ? batch_ : kUsualImages);
    ProgressLine progress("predict", "examples");
    for (int64_t begin = 0; begin < data.size(); begin += rows.size()) {
      const int64_t count = rows.meant(begin, data.size());
      const std::vector<int64_t> indices = rows.from(begin, data.size());
      const Batch batch = OCTET_TRY(data.batch(indices));
      std::vector<Prediction> predictions(static_cast<size_t>(count));
      const std::vector<double> wanted = OCTET_TRY(number_labels(batch));
      const int64_t width = std::ssize(wanted) / std::ssize(indices);
      for (int64_t i = 0; i < count; ++i) {
        Prediction& p = predictions[static_cast<size_t>(i)];
        p.index = data.position(begin + i);
        p.file = data.file(begin + i);
        if (!batch.labels.empty()) p.label = static_cast<int64_t>(batch.labels.at(i));
        p.wanted.assign(wanted.begin() + i * width, wanted.begin() + (i + 1) * width);
      }
      const Asked asked = predictions.front().file.empty() ? Asked::kExamples : Asked::kFiles;
      OCTET_TRY(answer(predictions, batch, asked));
      if (!output_.empty()) progress.update(begin + count, data.size());
    }
    return ok_status();
  }

  // Language models: what stands for each [MASK].

  Result<Answer> fill_masks(Classifier& model) {
    if (options_.format != PredictionFormat::kText &&
        options_.format != PredictionFormat::kJsonLines)
      return error("{}: a language model answers as text or jsonl", model_);
    if (!data_.empty() || !images_.empty() || !output_.empty() || pair_)
      return error("{}: a language model fills the [MASK] of texts: type them, or give lines with "
                   "--text or on standard input",
                   model_);
    const MaskFiller filler =
        OCTET_TRY_WITH(MaskFiller::create(model.graph(), OCTET_TRY(load_tokenizer())), model_);
    int64_t index = 0;
    const auto one = [&](const std::string& text) -> Status {
      const MaskedText masked =
          OCTET_TRY_WITH(filler.fill(model.executor(), text, static_cast<int>(top_)), model_);
      print(filler, masked, text, index++);
      std::fflush(stdout);
      return ok_status();
    };
    for (const std::string& text : inputs_)
      OCTET_TRY(one(text));
    if (!inputs_.empty()) return Answer::kDone;
    OpenFile file(nullptr, std::fclose);
    if (!text_file_.empty()) file = OCTET_TRY_WITH(open_text_file(), text_file_);
    std::string line;
    while (OCTET_TRY(read_line(file ? file.get() : stdin, line)))
      OCTET_TRY(one(line));
    return Answer::kDone;
  }

  void print(const MaskFiller& filler,
             const MaskedText& masked,
             const std::string& text,
             int64_t index) const {
    nlohmann::ordered_json masks = nlohmann::ordered_json::array();
    std::string line;
    for (const Masked& m : masked.masks) {
      nlohmann::ordered_json guesses = nlohmann::ordered_json::array();
      for (const Guess& g : m.guesses) {
        const std::string token(filler.tokenizer().token(g.token));
        line += fmt::format("{} {:.4f}  ", token, g.probability);
        guesses.push_back({{"token", token}, {"probability", g.probability}});
      }
      masks.push_back({{"position", m.position}, {"guesses", guesses}});
    }
    if (options_.format == PredictionFormat::kText)
      fmt::print("{}{}\n", line, one_line(text));
    else
      fmt::print(
          "{}\n",
          json_text(nlohmann::ordered_json{{"index", index}, {"text", text}, {"masks", masks}},
                    -1));
  }

  std::string model_, text_file_, data_, format_, output_, vocabulary_, labels_, prepare_;
  std::string executor_ = "native";
  std::vector<std::string> inputs_, images_;
  bool training_split_ = false, pair_ = false, from_standard_input_ = false;
  int64_t top_ = 1, max_length_ = 0, batch_ = 0;
  PredictionOptions options_;
  const Common* common_ = nullptr;
  Classifier* classifier_ = nullptr;
  std::unique_ptr<PredictionWriter> writer_;
};

} // namespace

Command& predict_command() {
  static Predict command;
  return command;
}

} // namespace octet::cli
