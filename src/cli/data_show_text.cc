// SPDX-License-Identifier: Apache-2.0
#include "cli/data_show_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "core/json.h"
#include "core/string_util.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/text_dataset.h"

namespace octet::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Labels and lengths are counted over at most so many examples, tokens over fewer.
constexpr int64_t kMaxCountedTexts = 200000;
constexpr int64_t kMaxTokenized = 5000;
constexpr int64_t kPretrainingDocuments = 500;
constexpr size_t kShownBytes = 400;

/// One line of at most kShownBytes, without control characters, not cut inside of a character.
std::string shortened(std::string_view text) {
  size_t end = std::min(text.size(), kShownBytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  std::string out(text.substr(0, end));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  if (end < text.size()) out += fmt::format("... ({} bytes in all)", text.size());
  return out;
}

struct Lengths {
  int64_t counted = 0, median = 0, high = 0, longest = 0;
  double mean = 0, cut_share = 0;
};

Lengths summarize(std::vector<int64_t> values, int64_t limit) {
  Lengths out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  // The smallest value that so large a share of them does not exceed.
  const auto at = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<size_t>(rank) - 1];
  };
  out.counted = std::ssize(values);
  out.median = at(0.5);
  out.high = at(0.95);
  out.longest = values.back();
  const auto count = static_cast<double>(values.size());
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  const auto cut = values.end() - std::upper_bound(values.begin(), values.end(), limit);
  out.cut_share = static_cast<double>(cut) / count;
  return out;
}

struct Summary {
  std::map<int64_t, int64_t> labels;
  Lengths bytes;
  std::optional<Lengths> tokens;
};

Result<Summary>
summarize(const TextSource& source, const Tokenizer* tokenizer, const TextShow& show) {
  Summary out;
  std::vector<int64_t> bytes;
  std::vector<int64_t> tokens;
  for (int64_t label = 0; label < std::ssize(source.classes()); ++label)
    out.labels[label] = 0;
  for (int64_t i = 0; i < std::min(source.size(), kMaxCountedTexts); ++i) {
    const TextExample example = OCTET_TRY(source.example(i));
    if (!source.classes().empty()) ++out.labels[example.label];
    bytes.push_back(std::ssize(example.text) + std::ssize(example.text2));
  }
  out.bytes = summarize(std::move(bytes), 0);
  if (tokenizer == nullptr) return out;
  // Evenly over the set: files are often sorted by label.
  const int64_t step = std::max<int64_t>(1, source.size() / kMaxTokenized);
  for (int64_t i = 0; i < source.size(); i += step) {
    const TextExample example = OCTET_TRY(source.example(i));
    const Encoding encoding = source.pairs() ? tokenizer->encode(example.text, example.text2)
                                             : tokenizer->encode(example.text);
    tokens.push_back(std::ssize(encoding.ids));
  }
  out.tokens = summarize(std::move(tokens), show.max_length);
  return out;
}

std::string class_name(const TextSource& source, int64_t label) {
  const auto& names = source.classes();
  return label >= 0 && label < std::ssize(names) ? names[static_cast<size_t>(label)] : "unlabelled";
}

std::string
joined_tokens(const Tokenizer& tokenizer, std::span<const int64_t> ids, size_t begin, size_t end) {
  std::string out;
  for (size_t i = begin; i < end; ++i) {
    if (i > begin) out += ' ';
    out += tokenizer.token(static_cast<int32_t>(ids[i]));
  }
  return out;
}

Result<Json> example_json(const TextSource& source,
                          const Tokenizer* tokenizer,
                          const TextShow& show,
                          int64_t index) {
  const TextExample example = OCTET_TRY(source.example(index));
  Json out = {{"index", index}, {"text", shortened(example.text)}};
  if (source.pairs()) out["text2"] = shortened(example.text2);
  if (!source.classes().empty()) {
    out["label"] = example.label;
    out["class"] = class_name(source, example.label);
  }
  if (tokenizer == nullptr) return out;
  EncodeOptions options;
  options.max_length = show.max_length;
  const Encoding encoding = source.pairs() ? tokenizer->encode(example.text, example.text2, options)
                                           : tokenizer->encode(example.text, options);
  const std::vector<int64_t> ids(encoding.ids.begin(), encoding.ids.end());
  out["tokens"] = joined_tokens(*tokenizer, ids, 0, ids.size());
  out["token_count"] = ids.size();
  return out;
}

/// The first examples; where there are classes, theirs by turns: files are often sorted by label.
Result<std::vector<int64_t>> shown_examples(const TextSource& source, int64_t count) {
  const auto classes = static_cast<size_t>(std::max<int64_t>(1, std::ssize(source.classes())));
  std::vector<std::vector<int64_t>> of_class(classes);
  const auto wanted = static_cast<size_t>(std::min(count, source.size()));
  size_t full = 0;
  for (int64_t i = 0; i < source.size() && full < classes; ++i) {
    const int64_t label = source.classes().empty() ? 0 : OCTET_TRY(source.label(i));
    if (label < 0 || label >= std::ssize(of_class)) continue;
    std::vector<int64_t>& own = of_class[static_cast<size_t>(label)];
    if (own.size() == wanted) continue;
    own.push_back(i);
    full += own.size() == wanted ? 1 : 0;
  }
  std::vector<int64_t> out;
  for (size_t turn = 0; turn < wanted; ++turn)
    for (const std::vector<int64_t>& own : of_class)
      if (turn < own.size() && out.size() < wanted) out.push_back(own[turn]);
  return out;
}

Json lengths_json(const Lengths& lengths) {
  return {{"counted", lengths.counted},
          {"mean", lengths.mean},
          {"median", lengths.median},
          {"percentile_95", lengths.high},
          {"longest", lengths.longest}};
}

Result<Json>
split_json(const TextSource& source, const Tokenizer* tokenizer, const TextShow& show) {
  const Summary summary = OCTET_TRY(summarize(source, tokenizer, show));
  Json out = {{"description", source.description()}, {"examples", source.size()}};
  for (const auto& [label, count] : summary.labels)
    out["labels"][class_name(source, label)] = count;
  out["bytes"] = lengths_json(summary.bytes);
  if (summary.tokens) {
    out["tokens"] = lengths_json(*summary.tokens);
    out["tokens"]["share_cut"] = summary.tokens->cut_share;
  }
  out["first"] = Json::array();
  for (const int64_t i : OCTET_TRY(shown_examples(source, show.examples)))
    out["first"].push_back(OCTET_TRY(example_json(source, tokenizer, show, i)));
  return out;
}

void print_split(const Json& split, int64_t max_length) {
  fmt::print("{}\n", split["description"].get<std::string>());
  int64_t label = 0;
  if (split.contains("labels")) {
    for (const auto& [name, count] : split["labels"].items())
      fmt::print("  label {}: {}, \"{}\"\n", label++, counted(count.get<int64_t>(), "example"),
                 name);
  } else {
    fmt::print("  no labels\n");
  }
  const auto print_lengths = [](const char* unit, const Json& lengths) {
    fmt::print("  {}: median {}, mean {:.0f}, 95 % up to {}, longest {}", unit,
               lengths["median"].get<int64_t>(), lengths["mean"].get<double>(),
               lengths["percentile_95"].get<int64_t>(), lengths["longest"].get<int64_t>());
  };
  print_lengths("bytes", split["bytes"]);
  fmt::print("\n");
  if (split.contains("tokens")) {
    print_lengths("tokens", split["tokens"]);
    fmt::print("; {:.1f} % have more than {} and are cut (of {})\n",
               100 * split["tokens"]["share_cut"].get<double>(), max_length,
               counted(split["tokens"]["counted"].get<int64_t>(), "example"));
  }
  for (const Json& example : split["first"]) {
    fmt::print("example {}", example["index"].get<int64_t>());
    if (example.contains("label"))
      fmt::print(", label {} \"{}\"", example["label"].get<int64_t>(),
                 example["class"].get<std::string>());
    fmt::print("\n  text: {}\n", example["text"].get<std::string>());
    if (example.contains("text2")) fmt::print("  text2: {}\n", example["text2"].get<std::string>());
    if (example.contains("tokens"))
      fmt::print("  {} tokens: {}\n", example["token_count"].get<size_t>(),
                 example["tokens"].get<std::string>());
  }
}

Json masked_json(const Tokenizer& tokenizer,
                 std::span<const int64_t> shown,
                 std::span<const int64_t> labels) {
  Json out = Json::array();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) continue;
    const char* how = shown[i] == tokenizer.mask() ? "masked"
                      : shown[i] == labels[i]      ? "kept"
                                                   : "random";
    out.push_back({{"position", i},
                   {"how", how},
                   {"shown", tokenizer.token(static_cast<int32_t>(shown[i]))},
                   {"label", labels[i]},
                   {"token", tokenizer.token(static_cast<int32_t>(labels[i]))}});
  }
  return out;
}

/// One row of a pretraining batch of one row.
Result<Json> row_json(const Tokenizer& tokenizer, const Batch& batch) {
  const std::vector<int64_t> ids = OCTET_TRY(batch.inputs[0].second.to_ints());
  const std::vector<int64_t> mask = OCTET_TRY(batch.inputs[1].second.to_ints());
  const std::vector<int64_t> types = OCTET_TRY(batch.inputs[2].second.to_ints());
  const std::vector<int64_t> labels = OCTET_TRY(batch.targets[0].second.to_ints());
  const auto length = static_cast<size_t>(std::count(mask.begin(), mask.end(), 1));
  const auto second = static_cast<size_t>(std::find(types.begin(), types.end(), 1) - types.begin());
  const size_t cut = std::min(second, length);
  Json out;
  for (const auto& [name, target] : batch.targets) {
    if (name != "nsp_labels") continue;
    const auto label = static_cast<int64_t>(target.at(0));
    out["nsp_label"] = label;
    out["next"] = label == 0 ? "the second part follows" : "the second part is another document's";
  }
  out["tokens"] = length;
  out["first"] = joined_tokens(tokenizer, ids, 0, cut);
  if (cut < length) out["second"] = joined_tokens(tokenizer, ids, cut, length);
  out["predictions"] = masked_json(tokenizer, ids, labels);
  return out;
}

void print_row(int64_t index, int64_t epoch, const Json& row) {
  fmt::print("row {} in epoch {}", index, epoch);
  if (row.contains("nsp_label"))
    fmt::print(", next-sentence label {}: {}", row["nsp_label"].get<int64_t>(),
               row["next"].get<std::string>());
  fmt::print("\n  first:  {}\n", row["first"].get<std::string>());
  if (row.contains("second")) fmt::print("  second: {}\n", row["second"].get<std::string>());
  fmt::print("  to predict: {} of {} tokens\n", row["predictions"].size(),
             row["tokens"].get<size_t>());
  for (const Json& p : row["predictions"])
    fmt::print("    position {:>3}: label {:>5} \"{}\", shown \"{}\" ({})\n",
               p["position"].get<size_t>(), p["label"].get<int64_t>(),
               p["token"].get<std::string>(), p["shown"].get<std::string>(),
               p["how"].get<std::string>());
}

Result<Answer>
show_pretraining(const TextShow& show, const Tokenizer& tokenizer, const Common& common) {
  const auto source = OCTET_TRY(open_corpus(show.spec, Split::kTrain));
  TextDatasetOptions options;
  options.max_length = show.max_length;
  options.cache_folder = "none";
  options.threads = common.threads;
  options.seed = common.seed;
  options.limit = kPretrainingDocuments;
  MaskingOptions masking;
  masking.whole_word = show.whole_word;
  const NextSentence next = source->size() < 2 ? NextSentence::kNo : NextSentence::kYes;
  const auto data = OCTET_TRY(make_pretraining_dataset(source, tokenizer, options, masking, next,
                                                       Predictions::kEverywhere));
  Json json = {{"description", source->description()},
               {"documents", source->size()},
               {"sample", data->description()},
               {"rows", Json::array()}};
  if (!common.json) {
    fmt::print("{}\n  no labels of its own: tokens and next sentences are what is predicted\n",
               source->description());
    if (source->size() > kPretrainingDocuments)
      fmt::print("  {} documents drawn by the seed give {} rows\n", kPretrainingDocuments,
                 data->size());
  }
  for (int64_t i = 0; i < std::min(show.examples, data->size()); ++i) {
    const Batch batch = OCTET_TRY(data->batch_at(std::span(&i, 1), show.epoch));
    Json row = OCTET_TRY(row_json(tokenizer, batch));
    if (!common.json) print_row(i, show.epoch, row);
    json["rows"].push_back(std::move(row));
  }
  if (common.json) fmt::print("{}\n", json_text(json));
  return Answer::kDone;
}

} // namespace

Result<Answer> show_text(const TextShow& show, const Common& common) {
  std::optional<Tokenizer> tokenizer;
  if (!show.vocab.empty()) tokenizer = OCTET_TRY(Tokenizer::load(show.vocab));
  if (show.pretrain && !tokenizer)
    return Error("--pretrain shows tokens; give their vocabulary with --vocab");
  if (show.pretrain) return show_pretraining(show, *tokenizer, common);
  Json json;
  std::string shown;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const auto source = OCTET_TRY(open_text(show.spec, split));
    if (source->description() == shown) continue; // no test split of its own
    shown = source->description();
    TextShow part = show;
    if (split == Split::kTest) part.examples = 0;
    Json entry = OCTET_TRY(split_json(*source, tokenizer ? &*tokenizer : nullptr, part));
    if (!common.json) print_split(entry, show.max_length);
    json[split == Split::kTrain ? "train" : "test"] = std::move(entry);
  }
  if (common.json) fmt::print("{}\n", json_text(json));
  return Answer::kDone;
}

} // namespace octet::cli
