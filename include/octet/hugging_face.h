// SPDX-License-Identifier: Apache-2.0
// BERT, MiniLM and DistilBERT from folders as Hugging Face keeps them, and back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "octet/bert.h"

namespace octet {

struct HuggingFaceImport {
  std::optional<BertHead> head;    ///< none: the one that config.json's architectures name
  std::vector<std::string> labels; ///< of a classifier; empty: those of config.json
  bool token_type_input = true;
  bool gather_masked = false;
  DType index_type = DType::kInt64;
  int64_t opset = 17;
  uint64_t seed = 0; ///< of what the file has no weights for
};

struct ImportedModel {
  Graph graph;
  std::vector<std::string> fresh; ///< parameters of the head that the file lacks: initial values
  /// Parameters of the classifier that the file has for another number of classes than the wanted
  /// labels: initial values.
  std::vector<std::string> replaced;
  int64_t file_classes = 0;        ///< that number, where anything was replaced
  std::vector<std::string> unused; ///< tensors of the file that the graph has no use for
};

/// Reads config.json and model.safetensors (or the parts that model.safetensors.index.json names)
/// of a folder; a sentence-transformers folder is one of these. Weights in other float types become
/// f32. Errors name the file and the tensor: another model type, a missing part of the encoder, a
/// shape that config.json does not have.
Result<ImportedModel> import_hugging_face(const std::string& folder,
                                          const HuggingFaceImport& options = {});

/// Writes config.json and model.safetensors into a folder, which is made if it is missing, with the
/// names that the family's own code uses. Errors: a graph that was not built as a BERT, weights
/// that are no longer f32 (quantized ones: export the model that they came from), existing files
/// without `overwrite`.
Status export_hugging_face(const Graph& graph, const std::string& folder, bool overwrite);

} // namespace octet
