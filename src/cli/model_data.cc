// SPDX-License-Identifier: Apache-2.0
#include "cli/model_data.h"

#include <algorithm>
#include <optional>

#include "cli/terminal.h"
#include "core/format.h"
#include "core/string_util.h"

#include "octet/bert.h"
#include "octet/model_folder.h"
#include "octet/text_dataset.h"

namespace octet::cli {
namespace {

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

} // namespace

bool is_language_model(const Graph& graph) {
  return has(graph, graph.outputs(), "mlm_logits");
}

Result<std::shared_ptr<const Dataset>> open_model_data(const ModelData& data,
                                                       const Graph& graph,
                                                       const std::string& model,
                                                       const Common& common) {
  if (!is_text_spec(data.spec)) return open_dataset(data.spec, data.split);
  const std::string folder = OCTET_TRY(companion_folder(model));
  const Tokenizer tokenizer = OCTET_TRY(Tokenizer::load(folder));
  auto texts = OCTET_TRY(is_language_model(graph) ? open_corpus(data.spec, data.split)
                                                  : open_text(data.spec, data.split));
  return make_model_data(std::move(texts), data, graph, tokenizer, common);
}

Result<std::shared_ptr<const Dataset>> make_model_data(std::shared_ptr<const TextSource> texts,
                                                       const ModelData& data,
                                                       const Graph& graph,
                                                       const Tokenizer& tokenizer,
                                                       const Common& common) {
  ProgressLine progress("tokenize", "texts");
  TextDatasetOptions options;
  options.max_length = data.max_length;
  if (const auto bert = bert_options(graph); bert.ok())
    options.max_length = std::min(options.max_length, bert->positions);
  options.token_type_ids = has(graph, graph.inputs(), "token_type_ids");
  options.pad_multiple = 8;
  if (const auto length = fixed_length(graph)) {
    options.max_length = *length;
    options.pad_to_max = true;
  }
  options.threads = common.threads;
  options.limit = data.limit;
  options.seed = common.seed;
  options.cancel = &interrupted();
  options.on_progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
  if (!is_language_model(graph)) return make_text_dataset(std::move(texts), tokenizer, options);
  return make_pretraining_dataset(
      std::move(texts), tokenizer, options, data.masking,
      has(graph, graph.outputs(), "nsp_logits") ? NextSentence::kYes : NextSentence::kNo,
      has(graph, graph.inputs(), "masked_positions") ? Predictions::kGathered
                                                     : Predictions::kEverywhere);
}

Status check_labels(const Dataset& data, const std::string& model) {
  const Result<std::string> folder = companion_folder(model);
  if (!folder.ok()) return ok_status();
  std::vector<std::string> labels = OCTET_TRY(read_labels(*folder));
  std::vector<std::string> classes = data.classes();
  if (labels.empty() || classes.empty() || labels == classes) return ok_status();
  if (labels.size() != classes.size())
    return error("{}: has {} labels, {} has {} classes; they are not made for each other", model,
                 labels.size(), data.description(), classes.size());
  const std::string texts[] = {join(labels, ", "), join(classes, ", ")};
  std::sort(labels.begin(), labels.end());
  std::sort(classes.begin(), classes.end());
  if (labels != classes) return ok_status();
  return error("{}: its labels are {}, those of {} are {}; bring them into one order", model,
               texts[0], data.description(), texts[1]);
}

} // namespace octet::cli
