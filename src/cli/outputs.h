// SPDX-License-Identifier: Apache-2.0
// What several subcommands do with the files they write: refuse bad places before long work, write
// models.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include <nlohmann/json.hpp>

#include "octet/graph.h"

namespace octet::cli {

/// Everything that a command reads or else writes: models, data sets as kind:path, `NAME=FILE`,
/// plain files. Empty ones count for nothing.
using UsedFiles = std::vector<std::string>;

/// Errors: `path` is one of the files that are used, under this or another name (a relative one, a
/// link), which writing would destroy: also with --force.
Status check_unused(const std::string& path, UsedFiles used, const Common& common);

/// Refuses at once, before long work, what could not or must not be written at its end.
Status check_output(const std::string& path, const UsedFiles& used, const Common& common);
/// The same for a model, as a folder or a file: also a folder that is no model folder or has one of
/// the used files in it, and a place that cannot be written.
Status check_model_output(const std::string& path,
                          bool as_folder,
                          const UsedFiles& used,
                          const Common& common);
/// True when `path` becomes a model folder: it ends in a slash, is a folder, or has no `.onnx` at
/// its end while `source` is a folder.
bool writes_folder(const std::string& path, const std::string& source);
/// The names of classes in labels.txt beside `source` where the graph has others: a user's later
/// word. Empty: there are none, or the graph names no classes.
Result<std::vector<std::string>> edited_labels(const Graph& graph, const std::string& source);
/// An ONNX file, or a model folder with the companions (labels, tokenizer) of `source` and, where
/// it was trained, the `record` of that. Its history (history.h) gets a step with `facts` and the
/// record's. Companions called as in `left_out` are not its own any more; else labels.txt beside
/// `source` names the classes, where it has as many.
Status write_model(const Graph& graph,
                   const std::string& path,
                   const Common& common,
                   const std::string& source = {},
                   const std::string& record = {},
                   const nlohmann::json& facts = nlohmann::json::object(),
                   const std::vector<std::string>& left_out = {});

} // namespace octet::cli
