// SPDX-License-Identifier: Apache-2.0
// What octet did to a model, a step after another, in the metadata `octet.history` of its file.
// Steps name what they were made from by hashes and no paths, dates or machines: the same inputs
// give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include <nlohmann/json.hpp>

#include "octet/graph.h"
#include "octet/quantize.h"

namespace octet::cli {

inline constexpr const char* kHistoryMetadata = "octet.history";
inline constexpr const char* kHistorySource = "from"; ///< the key of what a model was made from

/// What the model at a path is: the SHA-256 of its ONNX file and content_hash of its graph with all
/// weights; of a folder of Hugging Face's the SHA-256 of its weights; an empty object where there is
/// neither.
nlohmann::json history_source(const std::string& path);

/// Appends a step: the command, the version, what the model at `source` is (nothing for an empty
/// path, or where `facts` say it), then `facts`. A history that cannot be read is begun anew, which
/// stderr says.
void append_history(Graph& graph,
                    const Common& common,
                    const std::string& source,
                    const nlohmann::json& facts);

/// The steps; empty: the model has no history. Errors: it is no list of objects.
Result<std::vector<nlohmann::json>> history_of(const Graph& graph);
/// A step on one line, for people.
std::string history_line(const nlohmann::json& step);

/// What decides about a quantized model beside the model itself.
nlohmann::json history_facts(const QuantizationPlan& plan);
/// The recipe of a training record (TrainFlags::record), without its paths.
nlohmann::json history_facts(const std::string& training_record);

} // namespace octet::cli
