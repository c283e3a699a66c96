// SPDX-License-Identifier: Apache-2.0
// A model with what belongs to it, in one folder that can be moved: model.onnx, labels.txt, and for
// text vocab.txt, tokenizer.json, tokenizer_config.json, config.json; training.json says how it was
// made. Nothing in it points outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/graph.h"
#include "octet/result.h"

namespace octet {

/// The ONNX file that a path stands for: `FOLDER/model.onnx` for a folder, else the path itself.
/// Errors: a folder without one.
Result<std::string> resolve_model(const std::string& path);

/// The folder that a model's companions lie in: the path itself or, for `FOLDER/model.onnx`, its
/// folder. Errors: a file of another name, which has no companions.
Result<std::string> companion_folder(const std::string& path);

/// The names of the files that may lie beside a model and belong to it.
const std::vector<std::string>& companion_names();

/// The names of classes, one a line. Empty without such a file.
Result<std::vector<std::string>> read_labels(const std::string& folder);

/// The names of a model's classes: those beside it (labels.txt), else those in its metadata. Empty:
/// neither has them.
Result<std::vector<std::string>> class_names(const Graph& graph, const std::string& path);
/// The names in the metadata alone, which training writes. Errors: they are damaged.
Result<std::vector<std::string>> class_names(const Graph& graph);
void set_class_names(Graph& graph, const std::vector<std::string>& names);

/// A folder being written beside its place, under a name of its own, that gets its name in one step
/// once it is complete. Destroying it without commit() leaves nothing behind.
class ModelFolderWriter {
 public:
  /// Errors: the path exists and `overwrite` is not set, or is something else than a model folder
  /// or one of Hugging Face's (which is never replaced); its parent is missing or not writable.
  static Result<ModelFolderWriter> create(const std::string& path, bool overwrite);
  ModelFolderWriter(ModelFolderWriter&& other) noexcept;
  ModelFolderWriter& operator=(ModelFolderWriter&&) = delete;
  ModelFolderWriter(const ModelFolderWriter&) = delete;
  ~ModelFolderWriter();

  /// Where files are written before commit(), for code that writes by name.
  const std::string& path() const { return temporary_; }
  /// model.onnx, the names of classes in its metadata and, for a graph built as a BERT,
  /// config.json.
  Status add_model(const Graph& graph);
  Status add_labels(const std::vector<std::string>& labels);
  /// A file of this name; names with a folder are refused.
  Status add_file(const std::string& name, std::string_view content);
  /// Copies what another folder has beside its model, but for files that are here already and for
  /// those that are named.
  Status add_companions(const std::string& folder, const std::vector<std::string>& but_for = {});
  /// Makes the folder appear under its name, an old one of that name disappears.
  Status commit();

 private:
  ModelFolderWriter() = default;
  std::string target_, temporary_;
};

} // namespace octet
