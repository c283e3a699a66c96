// SPDX-License-Identifier: Apache-2.0
#include "cli/model_data.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "cli/model_images.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/string_util.h"
#include "data/batch_rows.h"
#include "data/zeros.h"
#include "graph/metadata.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/bert.h"
#include "octet/images.h"
#include "octet/model_folder.h"
#include "octet/text_dataset.h"

namespace octet::cli {
namespace {

constexpr const char* kTrainedLength = "octet.max_length";

bool has(const Graph& graph, const std::vector<ValueId>& values, std::string_view name) {
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId id) { return graph.value(id).name == name; });
}

/// The second size of the first input, where the graph fixes it.
std::optional<int64_t> fixed_length(const Graph& graph) {
  if (graph.inputs().empty()) return std::nullopt;
  const TypeInfo& type = graph.value(graph.inputs()[0]).type;
  return type.has_rank() && type.rank() == 2 ? (*type.shape)[1].maybe_value() : std::nullopt;
}

/// Rows of the table that the token ids pick from; 0: not known.
int64_t word_embeddings(const Graph& graph) {
  if (const auto bert = bert_options(graph); bert.ok()) return bert->vocabulary;
  const auto ids = graph.find_value("input_ids");
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!ids || !node.is("Gather") || node.input(1) != *ids) continue;
    const Tensor* table = graph.constant(node.input(0));
    if (table != nullptr && table->rank() == 2) return table->dim(0);
  }
  return 0;
}

/// As many tokens as are asked for, or as the model was trained with. Errors: more than it has
/// positions.
Result<int64_t> row_length(const Graph& graph, int64_t wanted) {
  constexpr int64_t kUsual = 128;
  const auto bert = bert_options(graph);
  const int64_t positions = bert.ok() ? bert->positions : std::numeric_limits<int64_t>::max();
  if (wanted > positions)
    return error("--max-length is {}, the model has {} positions; rows cannot be longer", wanted,
                 positions);
  if (wanted > 0) return wanted;
  const int64_t known = trained_length(graph);
  return std::min(known > 0 ? known : kUsual, positions);
}

/// Names alike but for the case of letters.
bool same_names(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const std::string& x, const std::string& y) { return lowered(x) == lowered(y); });
}

/// `0`, `1`, ... or `LABEL_0`, `LABEL_1`, ...: stands for whatever has that place.
bool are_numbers(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string number = std::to_string(i);
    if (names[i] != number && names[i] != "LABEL_" + number) return false;
  }
  return true;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

void add_max_length(CLI::App& app, int64_t& length) {
  add_count_option(app, "--max-length", length,
                   "tokens of a row, for text; default: as in training where the model says it, "
                   "else 128",
                   {3, 65536});
}

void add_zeros(CLI::App& app, std::vector<std::string>& zeros) {
  add_list_option(app, "--zeros", zeros,
                  "inputs that the data has no features for and that are fed zeros: states", ',');
}

int64_t trained_length(const Graph& graph) {
  const std::string* length = find_metadata(graph.info.metadata, kTrainedLength);
  return length == nullptr ? 0 : whole_number(*length);
}

void set_trained_length(Graph& graph, int64_t length) {
  for (auto& [key, value] : graph.info.metadata)
    if (key == kTrainedLength) {
      value = std::to_string(length);
      return;
    }
  graph.info.metadata.emplace_back(kTrainedLength, std::to_string(length));
}

std::string corpus_spec(const std::string& spec) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(spec, ignored) ? "text:" + spec : spec;
}

std::string padding_mask(const Graph& graph, const std::string& wanted, const std::string& data) {
  constexpr const char* kOfTokens = "attention_mask";
  if (!wanted.empty() || !is_text_spec(corpus_spec(data))) return wanted;
  const auto value = graph.find_value(kOfTokens);
  return value && graph.value(*value).kind == ValueKind::kInput ? kOfTokens : "";
}

Status check_tokenizer(const Graph& graph, const Tokenizer& tokenizer) {
  const int64_t rows = word_embeddings(graph);
  if (rows == 0 || rows == tokenizer.size()) return ok_status();
  if (tokenizer.size() > rows)
    return error("the tokenizer has {} entries, the model {} word embeddings; they do not belong "
                 "together",
                 tokenizer.size(), rows);
  fmt::print(stderr,
             "the tokenizer has {} entries, the model {} word embeddings: check that they "
             "belong together\n",
             tokenizer.size(), rows);
  return ok_status();
}

bool is_language_model(const Graph& graph) {
  return has(graph, graph.outputs(), "mlm_logits");
}

Result<TextDatasetOptions>
text_options(const Graph& graph, const Tokenizer& tokenizer, int64_t max_length) {
  OCTET_TRY(check_tokenizer(graph, tokenizer));
  TextDatasetOptions options;
  options.max_length = OCTET_TRY(row_length(graph, max_length));
  options.token_type_ids = has(graph, graph.inputs(), "token_type_ids");
  options.pad_multiple = 8;
  if (const auto length = fixed_length(graph)) {
    options.max_length = *length;
    options.pad_to_max = true;
  }
  return options;
}

Result<std::shared_ptr<const Dataset>> open_model_data(const ModelData& data,
                                                       const Graph& graph,
                                                       const std::string& model,
                                                       const Common& common) {
  const bool language_model = is_language_model(graph);
  const std::string spec = language_model ? corpus_spec(data.spec) : data.spec;
  if (is_image_spec(spec))
    return with_zeros(OCTET_TRY(open_model_images(spec, data.split, graph, model)), graph,
                      data.zeros);
  if (!is_text_spec(spec))
    return with_zeros(OCTET_TRY(open_dataset(spec, data.split)), graph, data.zeros);
  const std::string folder = OCTET_TRY(companion_folder(model));
  const Tokenizer tokenizer = OCTET_TRY(Tokenizer::load(folder));
  auto texts =
      OCTET_TRY(language_model ? open_corpus(spec, data.split) : open_text(spec, data.split));
  return make_model_data(std::move(texts), data, graph, tokenizer, common);
}

Result<std::shared_ptr<const Dataset>> make_model_data(std::shared_ptr<const TextSource> texts,
                                                       const ModelData& data,
                                                       const Graph& graph,
                                                       const Tokenizer& tokenizer,
                                                       const Common& common) {
  ProgressLine progress("tokenize", "texts");
  const Interruptible interruptible;
  TextDatasetOptions options = OCTET_TRY(text_options(graph, tokenizer, data.max_length));
  if (data.full_rows) options.pad_to_max = true;
  options.threads = common.threads;
  options.limit = data.limit;
  options.seed = common.seed;
  options.cancel = &interruptible.token();
  options.on_progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
  if (!is_language_model(graph)) return make_text_dataset(std::move(texts), tokenizer, options);
  return make_pretraining_dataset(
      std::move(texts), tokenizer, options, data.masking,
      has(graph, graph.outputs(), "nsp_logits") ? NextSentence::kYes : NextSentence::kNo,
      has(graph, graph.inputs(), "masked_positions") ? Predictions::kGathered
                                                     : Predictions::kEverywhere);
}

Status check_labels(const Dataset& data, const Graph& graph, const std::string& model) {
  return check_classes(OCTET_TRY(class_names(graph, model)), model, data.classes(),
                       data.description());
}

Status check_classes(const std::vector<std::string>& labels,
                     const std::string& model,
                     const std::vector<std::string>& classes,
                     const std::string& data) {
  if (labels.empty() || classes.empty() || same_names(labels, classes)) return ok_status();
  if (are_numbers(classes) && classes.size() <= labels.size()) return ok_status();
  if (labels.size() != classes.size())
    return error("{}: has {} labels, {} has {} classes; they are not made for each other", model,
                 labels.size(), data, classes.size());
  if (are_numbers(labels) || are_numbers(classes)) return ok_status();
  const auto differ = [&](std::string_view what) {
    const auto at = std::mismatch(labels.begin(), labels.end(), classes.begin());
    return error(
        "{}: its labels are {}, the classes of {} are {}: class {} is \"{}\" and \"{}\"; {}", model,
        join_some(labels), data, join_some(classes), at.first - labels.begin(), *at.first,
        *at.second, what);
  };
  if (same_names(sorted(labels), sorted(classes))) return differ("bring them into one order");
  for (const std::string& name : labels)
    if (std::find(classes.begin(), classes.end(), name) != classes.end())
      return differ("only some names are the same, so they are not made for each other");
  fmt::print(stderr, "{}: its labels {} are taken for {} of {}, in this order\n", model,
             join_some(labels), join_some(classes), data);
  return ok_status();
}

Result<std::vector<Tensor>> first_inputs(const Graph& graph, const Dataset& data, int64_t count) {
  const BatchRows rows(graph, data, count);
  return bind_inputs(graph, OCTET_TRY(data.batch(rows.from(0, data.size()))));
}

void note_one_at_a_time(const std::string& model) {
  fmt::print(stderr,
             "{}: what it computes for an example depends on the others of a batch: calibrated one "
             "at a time, as with --batch 1\n",
             model);
}

} // namespace octet::cli
