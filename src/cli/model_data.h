// SPDX-License-Identifier: Apache-2.0
// The data set that a model is evaluated or calibrated with: text goes through the tokenizer of the
// model's folder into what the graph asks for.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"

#include "octet/dataset.h"
#include "octet/graph.h"
#include "octet/text_dataset.h"
#include "octet/text_source.h"
#include "octet/tokenizer.h"

namespace octet::cli {

struct ModelData {
  std::string spec; ///< kind:path
  Split split = Split::kTest;
  int64_t max_length = 128; ///< of rows of tokens; a BERT's positions bound it too
  int64_t limit = 0;        ///< of texts, 0: all
  MaskingOptions masking;   ///< of rows for a language model
};

/// True for a graph that predicts masked tokens.
bool is_language_model(const Graph& graph);

/// A data set that is no text is opened as it is. A language model gets pretraining rows (with
/// next-sentence pairs and gathered positions if it has these), any other model labelled ones.
/// Errors: text for a model without a tokenizer beside it.
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

/// Errors: the labels in the model's folder are not the classes of the data set: other in number,
/// or the same names in another order. Other names of as many classes are taken to mean the same.
Status check_labels(const Dataset& data, const std::string& model);

} // namespace octet::cli
