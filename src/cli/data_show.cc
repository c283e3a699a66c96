// SPDX-License-Identifier: Apache-2.0
// octet data show: shapes, labels and examples of a data set.
#include <algorithm>
#include <cmath>
#include <map>

#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/data_show_text.h"
#include "cli/options.h"
#include "core/json.h"
#include "core/philox.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/dataset.h"
#include "octet/text_source.h"

namespace octet::cli {
namespace {

/// Labels are counted over at most so many examples.
constexpr int64_t kMaxCounted = 100000;
constexpr std::string_view kShades[] = {" ", "░", "▒", "▓", "█"};

class DataShow final : public Command {
 public:
  std::string_view name() const override { return "data show"; }
  std::string_view summary() const override { return "what a data set holds"; }
  std::string_view example() const override {
    return "octet data show fashion-mnist:DIR --examples 2";
  }

  void define(CLI::App& app) override {
    app.add_option("data", data_, "data set, kind:path")->required();
    add_count_option(app, "--examples", examples_,
                     "how many examples to print; --seed draws those that are no texts", {0, 1000});
    app.add_option("--vocab", text_.vocab, "for text: vocab.txt, tokenizer.json or their folder");
    add_count_option(app, "--max-length", text_.max_length, "for text: tokens of a row",
                     {3, 1 << 20});
    app.add_flag("--pretrain", text_.pretrain, "for text: rows of pairs with masked positions");
    app.add_flag("--whole-word", text_.whole_word, "with --pretrain: mask whole words");
    add_count_option(app, "--epoch", text_.epoch, "with --pretrain: masks of this epoch");
  }

  Result<Answer> run(const Common& common) override {
    if (is_text_spec(data_)) {
      text_.spec = data_;
      text_.examples = examples_;
      return show_text(text_, common);
    }
    nlohmann::ordered_json json;
    for (const Split split : {Split::kTrain, Split::kTest}) {
      const auto data = OCTET_TRY(open_dataset(data_, split));
      const std::map<int64_t, int64_t> labels = OCTET_TRY(count_labels(*data, kMaxCounted));
      if (common.json) {
        json[split == Split::kTrain ? "train" : "test"] = describe(*data, labels);
        continue;
      }
      print_summary(*data, labels);
      if (split == Split::kTrain) OCTET_TRY(print_examples(*data, common.seed));
    }
    if (common.json) fmt::print("{}\n", json_text(json));
    return Answer::kDone;
  }

 private:
  static std::string class_name(const Dataset& data, int64_t label) {
    const auto& names = data.classes();
    return label >= 0 && label < static_cast<int64_t>(names.size())
               ? names[static_cast<size_t>(label)]
               : std::to_string(label);
  }

  static nlohmann::ordered_json describe(const Dataset& data,
                                         const std::map<int64_t, int64_t>& labels) {
    nlohmann::ordered_json out = {{"description", data.description()}, {"examples", data.size()}};
    for (const auto& [name, type] : data.features())
      out["features"][name] = type.text();
    for (const auto& [label, n] : labels)
      out["labels"][class_name(data, label)] = n;
    return out;
  }

  static void print_summary(const Dataset& data, const std::map<int64_t, int64_t>& labels) {
    fmt::print("{}\n", data.description());
    for (const auto& [name, type] : data.features())
      fmt::print("  feature {}: {}\n", name, type.text());
    for (const auto& [label, n] : labels)
      fmt::print("  label {}: {}, \"{}\"\n", label, counted(n, "example"), class_name(data, label));
  }

  /// Drawn by the seed from the whole set: files may be sorted by label.
  Status print_examples(const Dataset& data, uint64_t seed) const {
    std::vector<int64_t> indices = permutation(data.size(), seed, 0);
    indices.resize(static_cast<size_t>(std::min(examples_, data.size())));
    std::sort(indices.begin(), indices.end());
    if (indices.empty()) return ok_status();
    const Batch batch = OCTET_TRY(data.batch(indices));
    for (size_t i = 0; i < indices.size(); ++i) {
      fmt::print("example {}", indices[i]);
      if (!batch.labels.empty())
        fmt::print(", label {}", class_name(data, static_cast<int64_t>(
                                                      batch.labels.at(static_cast<int64_t>(i)))));
      fmt::print("\n");
      for (const auto& [name, tensor] : batch.inputs)
        print_tensor(name, tensor, static_cast<int64_t>(i));
    }
    return ok_status();
  }

  /// Images as shades, anything else as its first numbers.
  static void print_tensor(const std::string& name, const Tensor& t, int64_t i) {
    const int64_t count = t.dim(0) ? t.count() / t.dim(0) : 0;
    const int64_t begin = i * count;
    double low = 0, high = 0, sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      const double v = t.at(begin + k);
      low = k ? std::min(low, v) : v;
      high = k ? std::max(high, v) : v;
      sum += v;
    }
    fmt::print("  {}: min {:.4g}, max {:.4g}, mean {:.4g}\n", name, low, high,
               sum / static_cast<double>(std::max<int64_t>(count, 1)));
    const bool image = t.rank() == 4 && t.dim(2) <= 64 && t.dim(3) <= 64;
    for (int64_t y = 0; image && y < t.dim(2); ++y) {
      std::string line = "  ";
      for (int64_t x = 0; x < t.dim(3); ++x) {
        const double v = t.at(begin + y * t.dim(3) + x);
        const double share = high > low ? (v - low) / (high - low) : 0;
        const std::string_view shade = kShades[static_cast<size_t>(std::lround(share * 4))];
        line += std::string(shade) + std::string(shade);
      }
      fmt::print("{}\n", line);
    }
  }

  std::string data_;
  int64_t examples_ = 2;
  TextShow text_;
};

} // namespace

Command& data_show_command() {
  static DataShow command;
  return command;
}

} // namespace octet::cli
