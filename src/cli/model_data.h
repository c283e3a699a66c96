// SPDX-License-Identifier: Apache-2.0
// The data set that a model is evaluated or calibrated with: text goes through the tokenizer of the
// model's folder into what the graph asks for.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"

#include "octet/dataset.h"
#include "octet/graph.h"
#include "octet/tokenizer.h"

namespace octet::cli {

struct ModelData {
  std::string spec; ///< kind:path
  Split split = Split::kTest;
  int64_t max_length = 128; ///< of rows of tokens; a BERT's positions bound it too
  int64_t limit = 0;        ///< of texts, 0: all
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
/// The same with a tokenizer that is at hand.
Result<std::shared_ptr<const Dataset>> open_model_data(const ModelData& data,
                                                       const Graph& graph,
                                                       const Tokenizer& tokenizer,
                                                       const Common& common);

/// Errors: the labels in the model's folder are not the classes of the data set: other in number,
/// or the same names in another order. Other names of as many classes are taken to mean the same.
Status check_labels(const Dataset& data, const std::string& model);

} // namespace octet::cli
