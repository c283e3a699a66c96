// SPDX-License-Identifier: Apache-2.0
#include "cli/history.h"

#include <algorithm>

#include "cli/models.h"
#include "core/format.h"
#include "core/hash.h"
#include "core/json.h"
#include "data/sha256.h"
#include "graph/metadata.h"
#include <fmt/ranges.h>

#include "octet/model_folder.h"
#include "octet/version.h"

namespace octet::cli {
namespace {

// What a step has in all cases, apart from its facts.
constexpr const char *kCommand = "command", *kVersion = "octet", *kFrom = kHistorySource;

std::string word_of(const nlohmann::json& value);

/// `key value, key value` of an object.
std::string words_of(const nlohmann::json& object) {
  std::vector<std::string> words;
  for (const auto& [key, value] : object.items())
    words.push_back(fmt::format("{} {}", key, word_of(value)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string word_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return "(" + words_of(value) + ")";
  if (!value.is_array()) return json_text(value, -1);
  std::vector<std::string> words;
  for (const nlohmann::json& item : value)
    words.push_back(word_of(item));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

/// Paths, and texts that say nothing.
bool is_left_out(const nlohmann::json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() || text.find('/') != std::string::npos;
}

} // namespace

nlohmann::json history_source(const std::string& path) {
  nlohmann::json out = nlohmann::json::object();
  const Result<std::string> file = resolve_model(path);
  if (!file.ok()) {
    if (const Result<std::string> sha = sha256_of_file(path + "/model.safetensors"); sha.ok())
      out["sha256"] = *sha;
    return out;
  }
  const Result<Graph> graph = open_model(*file);
  if (!graph.ok()) return out;
  // Without OpenSSL the graph's own hash has to do.
  if (const Result<std::string> sha = sha256_of_file(*file); sha.ok()) out["sha256"] = *sha;
  out["content"] = hash_text(graph->content_hash());
  return out;
}

Result<std::vector<nlohmann::json>> history_of(const Graph& graph) {
  std::vector<nlohmann::json> out;
  const std::string* text = find_metadata(graph.info.metadata, kHistoryMetadata);
  if (text == nullptr) return out;
  const nlohmann::json list =
      OCTET_TRY_WITH(parse_json(*text), std::string("metadata ") + kHistoryMetadata);
  const auto is_step = [](const nlohmann::json& step) { return step.is_object(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_step))
    return error("metadata {} is no list of steps", kHistoryMetadata);
  out.assign(list.begin(), list.end());
  return out;
}

void append_history(Graph& graph,
                    const Common& common,
                    const std::string& source,
                    const nlohmann::json& facts) {
  nlohmann::json steps = nlohmann::json::array();
  const Result<std::vector<nlohmann::json>> before = history_of(graph);
  if (before.ok())
    steps = *before;
  else
    fmt::print(stderr, "{}; it begins anew\n", before.error().text());
  nlohmann::json step = {{kVersion, std::string(version())}, {kCommand, common.command}};
  if (!source.empty() && !facts.contains(kFrom))
    if (nlohmann::json from = history_source(source); !from.empty()) step[kFrom] = from;
  step.update(facts);
  steps.push_back(std::move(step));
  set_metadata(graph.info.metadata, kHistoryMetadata, json_text(steps, -1));
}

std::string history_line(const nlohmann::json& step) {
  nlohmann::json rest = step;
  for (const char* key : {kCommand, kVersion})
    rest.erase(key);
  const std::string words = words_of(rest);
  return fmt::format("{} (octet {}){}{}", word_of(step.value(kCommand, nlohmann::json("?"))),
                     word_of(step.value(kVersion, nlohmann::json("?"))), words.empty() ? "" : ": ",
                     words);
}

nlohmann::json history_facts(const QuantizationPlan& plan) {
  nlohmann::json out = {{"target", plan.target}, {"mode", std::string(name(plan.mode))}};
  if (!plan.calibrator.empty()) out["calibrator"] = plan.calibrator;
  if (!plan.steps.empty()) {
    std::vector<std::string> kinds; // in the order in which they are applied, each once
    for (const PlanStep& step : plan.steps) {
      std::string kind(name(step.kind));
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
        kinds.push_back(std::move(kind));
    }
    out["steps"] = kinds;
  }
  out["plan"] = hash_text(hash_bytes(plan.to_json()));
  if (plan.samples > 0) {
    out["data"] = {{"examples", plan.samples + plan.held_back}};
    if (plan.data_hash != 0) out["data"]["content"] = hash_text(plan.data_hash);
  }
  return out;
}

nlohmann::json history_facts(const std::string& training_record) {
  nlohmann::json out = nlohmann::json::object();
  const Result<nlohmann::json> record = parse_json(training_record);
  if (!record.ok()) return out;
  const auto recipe = record->find("recipe");
  if (recipe == record->end() || !recipe->is_object()) return out;
  nlohmann::json data = nlohmann::json::object();
  for (const auto& [key, value] : recipe->items()) {
    if (key == kCommand || key == kFrom || key == "data set" || key == "teacher" ||
        is_left_out(value))
      continue;
    if (key == "data")
      data["description"] = value;
    else if (key == "examples")
      data[key] = value;
    else
      out[key] = value;
  }
  if (record->contains("data_hash")) data["content"] = record->at("data_hash");
  out["data"] = data;
  if (record->contains("steps")) out["steps"] = record->at("steps");
  return out;
}

} // namespace octet::cli
