// SPDX-License-Identifier: Apache-2.0
// octet data export: a data set as arrays, tokenized and prepared, for other tools.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/bind.h"
#include "data/npz.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/text_dataset.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUsualTokens = 128;

std::string sizes_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape)
    sizes.push_back(std::to_string(size));
  return join(sizes, "x");
}

class DataExport final : public Command {
 public:
  std::string_view name() const override { return "data export"; }
  std::string_view summary() const override {
    return "write tokens or prepared images as arrays for other tools";
  }
  std::string_view example() const override {
    return "octet data export imdb:DIR --vocab vocab.txt --max-length 128 -o imdb.npz\n"
           "  octet data export images:DIR --model cnn.onnx --limit 32 --raw -o inputs/";
  }

  void define(CLI::App& app) override {
    app.add_option("data", data_, "data set, kind:path")->required();
    app.add_option("-o,--output", output_, "npz file to write; with --raw a folder")->required();
    app.add_option("--model", model_,
                   "names, types and lengths as this model takes them; of texts its tokenizer");
    app.add_option("--vocab", vocabulary_, "for text: vocab.txt, tokenizer.json or their folder");
    app.add_option("--split", split_,
                   "train, test, or both: then the arrays are x_train, x_test and so on")
        ->capture_default_str();
    add_count_option(app, "--limit", limit_,
                     "so many examples; of texts drawn by the seed, else the first; 0: all");
    add_max_length(app, max_length_);
    app.add_flag("--pad", pad_, "of texts: pad all rows to --max-length, not to the longest");
    app.add_flag("--int32", int32_, "whole numbers of 64 bits as 32 bits");
    app.add_flag(
        "--raw", raw_,
        "a file NAME.bin with the bytes of each input, as trtexec --loadInputs takes them");
  }

  Result<Answer> run(const Common& common) override {
    if (!model_.empty() && !vocabulary_.empty())
      return error("--model brings its tokenizer; leave --vocab out");
    if (split_ != "train" && split_ != "test" && split_ != "both")
      return error("--split {} is neither train, test nor both", split_);
    if (raw_ && split_ == "both") return error("--raw writes one part; name it with --split");
    if (raw_)
      OCTET_TRY(check_unused(output_, {data_, model_, vocabulary_}, common));
    else
      OCTET_TRY(check_output(output_, {data_, model_, vocabulary_}, common));
    if (!model_.empty()) graph_ = OCTET_TRY(open_inputs(model_, common));
    NamedTensors arrays;
    for (const auto& [part, split] : {std::pair("train", Split::kTrain), {"test", Split::kTest}}) {
      if (split_ != part && split_ != "both") continue;
      const NamedTensors some = OCTET_TRY(arrays_of(split, common));
      for (const auto& [name, tensor] : some)
        arrays.emplace_back(split_ == "both" ? fmt::format("{}_{}", name, part) : name, tensor);
    }
    if (raw_)
      OCTET_TRY(write_raw(arrays, common));
    else
      OCTET_TRY(write_npz(output_, arrays, common.force ? Overwrite::kYes : Overwrite::kNo));
    report(arrays, common);
    return Answer::kDone;
  }

 private:
  Result<std::shared_ptr<const Dataset>> open(Split split, const Common& common) const {
    if (!model_.empty())
      return open_model_data({data_, split, max_length_, limit_}, graph_, model_, common);
    if (!is_text_spec(data_)) return open_dataset(data_, split);
    if (vocabulary_.empty())
      return error("{} is text; name what makes tokens of it with --vocab or --model", data_);
    ProgressLine progress("tokenize", "texts");
    const Interruptible interruptible;
    TextDatasetOptions options;
    options.max_length = max_length_ > 0 ? max_length_ : kUsualTokens;
    options.pad_to_max = pad_;
    options.threads = common.threads;
    options.limit = limit_;
    options.seed = common.seed;
    options.cancel = &interruptible.token();
    options.on_progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
    return open_text_dataset(data_, split, OCTET_TRY(Tokenizer::load(vocabulary_)), options);
  }

  /// All examples of a part as one batch.
  Result<NamedTensors> arrays_of(Split split, const Common& common) const {
    const auto data = OCTET_TRY(open(split, common));
    int64_t count = limit_ > 0 ? std::min(limit_, data->size()) : data->size();
    if (!model_.empty()) count = std::min(count, batch_for(graph_, *data, count));
    std::vector<int64_t> indices(static_cast<size_t>(count));
    std::iota(indices.begin(), indices.end(), 0);
    Batch batch = OCTET_TRY(data->batch(indices));
    NamedTensors out;
    if (model_.empty()) {
      out = std::move(batch.inputs);
    } else {
      const std::vector<Tensor> inputs = OCTET_TRY_WITH(bind_inputs(graph_, batch), model_);
      for (size_t i = 0; i < inputs.size(); ++i)
        out.emplace_back(graph_.value(graph_.inputs()[i]).name, inputs[i]);
    }
    for (auto& [name, tensor] : batch.targets)
      out.emplace_back(name, std::move(tensor));
    if (!batch.labels.empty() && !raw_) out.emplace_back("y", batch.labels);
    for (auto& [name, tensor] : out)
      if (int32_ && tensor.type() == DType::kInt64)
        tensor = OCTET_TRY_WITH(converted(tensor, DType::kInt32), name);
    return out;
  }

  std::string raw_path(const std::string& name) const {
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '_');
    return (fs::path(output_) / (file + ".bin")).string();
  }

  Status write_raw(const NamedTensors& arrays, const Common& common) const {
    std::error_code failed;
    for (const auto& [name, tensor] : arrays) {
      if (tensor.type() == DType::kString)
        return error("{} holds strings, which have no bytes", name);
      if (!common.force && fs::exists(raw_path(name), failed))
        return error("{}: exists; use --force to overwrite it", raw_path(name));
    }
    fs::create_directory(output_, failed);
    if (!fs::is_directory(output_, failed))
      return error("{}: is no folder and cannot be made; name a folder", output_);
    for (const auto& [name, tensor] : arrays) {
      AtomicFile file = OCTET_TRY(
          AtomicFile::create(raw_path(name), common.force ? Overwrite::kYes : Overwrite::kNo));
      const Tensor whole = tensor.aligned();
      OCTET_TRY(file.write(whole.bytes()));
      OCTET_TRY(file.commit());
    }
    return ok_status();
  }

  void report(const NamedTensors& arrays, const Common& common) const {
    nlohmann::ordered_json json;
    std::vector<std::string> shapes, files;
    for (const auto& [name, tensor] : arrays) {
      json["arrays"][name] = {{"type", octet::name(tensor.type())}, {"shape", tensor.shape()}};
      shapes.push_back(fmt::format("{}:{}", name, sizes_text(tensor.shape())));
      files.push_back(fmt::format("{}:{}", name, raw_path(name)));
      if (!common.json)
        fmt::print("{}: {}{}\n", name, octet::name(tensor.type()), to_string(tensor.shape()));
    }
    if (common.json) {
      if (raw_) json["trtexec"] = {{"shapes", join(shapes, ",")}, {"loadInputs", join(files, ",")}};
      fmt::print("{}\n", json_text(json));
    } else if (raw_) {
      fmt::print("trtexec --shapes={} --loadInputs={}\n", join(shapes, ","), join(files, ","));
    }
  }

  std::string data_, output_, model_, vocabulary_, split_ = "test";
  int64_t limit_ = 0, max_length_ = 0;
  bool pad_ = false, int32_ = false, raw_ = false;
  Graph graph_;
};

} // namespace

Command& data_export_command() {
  static DataExport command;
  return command;
}

} // namespace octet::cli
