// SPDX-License-Identifier: Apache-2.0
// octet import hf: a BERT, MiniLM or DistilBERT of Hugging Face's, in a folder or on the hub, to a
// model folder.
#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/download_progress.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/hub.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/hugging_face.h"
#include "octet/model_folder.h"

namespace octet::cli {
namespace {

constexpr std::pair<const char*, BertHead> kHeads[] = {
    {"none", BertHead::kNone},
    {"classification", BertHead::kClassification},
    {"masked-lm", BertHead::kMaskedLm},
    {"pretraining", BertHead::kPretraining}};

class ImportHf final : public Command {
 public:
  std::string_view name() const override { return "import hf"; }
  std::string_view summary() const override {
    return "make a model folder of a BERT, MiniLM or DistilBERT of Hugging Face's";
  }
  std::string_view example() const override {
    return "octet import hf sentence-transformers/all-MiniLM-L6-v2 --head classification --labels "
           "neg,pos -o minilm/";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_,
                   "folder with config.json and model.safetensors, or owner/name[@revision] on the "
                   "hub (HF_ENDPOINT, HF_TOKEN)")
        ->required();
    app.add_option("-o,--output", output_, "folder, or ONNX file without its companions")
        ->required();
    app.add_option("--head", head_,
                   "none, classification, masked-lm or pretraining; default: the file's own");
    app.add_option("--labels", labels_, "names of the classes, separated by commas");
    app.add_flag("--no-token-types", no_token_types_, "no input token_type_ids: all are 0");
    app.add_flag("--gather-masked", options_.gather_masked,
                 "an input masked_positions picks what the masked head computes");
    app.add_flag("--int32", int32_, "inputs are i32 instead of i64");
    add_count_option(app, "--opset", options_.opset, "17; from 20 on GELU is one operator",
                     {17, 25})
        ->capture_default_str();
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(choose_head());
    OCTET_TRY(check_model_output(output_, makes_folder(), {model_}, common));
    const std::string folder = OCTET_TRY(find_folder());
    options_.seed = common.seed;
    options_.token_type_input = !no_token_types_;
    if (int32_) options_.index_type = DType::kInt32;
    const ImportedModel model = OCTET_TRY(import_hugging_face(folder, options_));
    nlohmann::json facts = nlohmann::json::object();
    if (!source_.empty()) facts["source"] = source_;
    OCTET_TRY(write_model(model.graph, output_, common, folder, {}, facts));
    report(model, common);
    return Answer::kDone;
  }

 private:
  /// What the hub gives is a folder too.
  bool makes_folder() const { return !output_.ends_with(".onnx"); }

  /// Where the files lie, which for a model on the hub are downloaded first.
  Result<std::string> find_folder() {
    std::error_code ignored;
    if (std::filesystem::exists(model_, ignored)) return model_;
    const std::optional<HubModel> named = parse_hub_model(model_);
    if (!named)
      return error(ErrorCode::kNotFound,
                   "{}: there is no such folder; octet import hf owner/name downloads a model of "
                   "Hugging Face's",
                   model_);
    const HubAccess access = OCTET_TRY(hub_access());
    if (!access.notice.empty()) fmt::print(stderr, "{}\n", access.notice);
    DownloadProgress progress;
    const FetchedModel fetched =
        OCTET_TRY_WITH(fetch_hub_model(*named, access, progress.callbacks()),
                       model_ + ": is no folder, so it was looked for on "
                                "the hub");
    source_ = fetched.source;
    return fetched.folder;
  }

  Status choose_head() {
    for (const std::string_view label : split(labels_, ','))
      if (!trim(label).empty()) options_.labels.emplace_back(trim(label));
    if (head_.empty()) return ok_status();
    std::vector<std::string> names;
    for (const auto& [name, head] : kHeads) {
      names.emplace_back(name);
      if (head_ == name) options_.head = head;
    }
    if (!options_.head) return error("no head \"{}\"{}", head_, suggestion(head_, names));
    return ok_status();
  }

  void report(const ImportedModel& model, const Common& common) const {
    if (common.json) {
      const nlohmann::ordered_json out = {{"model", output_},
                                          {"source", source_.empty() ? model_ : source_},
                                          {"fresh", model.fresh},
                                          {"replaced", model.replaced},
                                          {"unused", model.unused}};
      fmt::print("{}\n", json_text(out));
      return;
    }
    fmt::print("{}: imported from {}\n", output_, source_.empty() ? model_ : source_);
    if (!model.fresh.empty())
      fmt::print("not in the file, so with initial values: {}\n", join(model.fresh, ", "));
    if (!model.replaced.empty())
      fmt::print("the file tells {} classes apart, --labels names {}; so with initial values: {}\n",
                 model.file_classes, options_.labels.size(), join(model.replaced, ", "));
    if (!model.unused.empty())
      fmt::print("in the file, but not of this head: {}\n", join(model.unused, ", "));
  }

  std::string model_, output_, head_, labels_;
  std::string source_; ///< of a model that was downloaded
  bool no_token_types_ = false, int32_ = false;
  HuggingFaceImport options_;
};

} // namespace

Command& import_hf_command() {
  static ImportHf command;
  return command;
}

} // namespace octet::cli
