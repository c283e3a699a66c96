// SPDX-License-Identifier: Apache-2.0
// The data set that a model is evaluated or calibrated with: text goes through the tokenizer of the
// model's folder into what the graph asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

#include "octet/dataset.h"
#include "octet/graph.h"
#include "octet/text_dataset.h"
#include "octet/text_source.h"
#include "octet/tokenizer.h"

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

struct ModelData {
  std::string spec; ///< kind:path
  Split split = Split::kTest;
  int64_t max_length = 0; ///< of rows of tokens; 0: what the model was trained with, else 128
  int64_t limit = 0;      ///< of texts, 0: all
  MaskingOptions masking; ///< of rows for a language model
  std::vector<std::string> zeros = {}; ///< inputs that are fed zeros
  bool full_rows = false;              ///< all rows of tokens as long as the longest may be
};

/// How a model's texts become rows of tokens: their length, padding, and whether it takes types.
/// Errors: longer rows than the model has positions, a tokenizer of another model.
Result<TextDatasetOptions>
text_options(const Graph& graph, const Tokenizer& tokenizer, int64_t max_length);

/// True for a graph that predicts masked tokens.
bool is_language_model(const Graph& graph);

/// The option --max-length of commands that run models.
void add_max_length(CLI::App& app, int64_t& length);

/// The option --zeros of commands that calibrate.
void add_zeros(CLI::App& app, std::vector<std::string>& zeros);

/// Tokens of a row that the model was trained with, which its metadata says; 0: not known.
int64_t trained_length(const Graph& graph);
void set_trained_length(Graph& graph, int64_t length);

/// What `--text` and, for a language model, `--data` take: a file of plain text goes without its
/// kind.
std::string corpus_spec(const std::string& spec);

/// The graph's input that is 0 where rows of the data hold padding: the wanted one if there is one,
/// else that of tokens, else none.
std::string padding_mask(const Graph& graph, const std::string& wanted, const std::string& data);

/// Errors: a tokenizer with more entries than the model has word embeddings. One of fewer is told
/// on stderr.
Status check_tokenizer(const Graph& graph, const Tokenizer& tokenizer);

/// A data set that is no text is opened as it is. A language model gets pretraining rows (with
/// next-sentence pairs and gathered positions if it has these), any other model labelled ones.
/// Errors: text for a model without a tokenizer beside it, or with one of another model; longer
/// rows than the model has positions.
Result<std::shared_ptr<const Dataset>> open_model_data(const ModelData& data,
                                                       const Graph& graph,
                                                       const std::string& model,
                                                       const Common& common);
/// What a graph asks for, of texts and a tokenizer that are at hand. The texts are freed once they
/// are tokens.
Result<std::shared_ptr<const Dataset>> make_model_data(std::shared_ptr<const TextSource> texts,
                                                       const ModelData& data,
                                                       const Graph& graph,
                                                       const Tokenizer& tokenizer,
                                                       const Common& common);

/// Errors: the model's labels, in its folder or its metadata, are not the classes of the data set: other in number,
/// the same names in another order, or some of the same names. Numbers stand for any name; names of
/// which none is the same are taken to mean the same, which is told on stderr.
Status check_labels(const Dataset& data, const Graph& graph, const std::string& model);
/// The same of labels and classes that are at hand.
Status check_classes(const std::vector<std::string>& labels,
                     const std::string& model,
                     const std::vector<std::string>& classes,
                     const std::string& data);

/// The first `count` examples, or as many as the graph fixes or the data has, bound to its inputs.
Result<std::vector<Tensor>> first_inputs(const Graph& graph, const Dataset& data, int64_t count);

/// Tells that a model mixes the examples of a batch (mixes_examples).
void note_one_at_a_time(const std::string& model);

} // namespace octet::cli
