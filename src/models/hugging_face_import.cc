// SPDX-License-Identifier: Apache-2.0
// A folder of Hugging Face's to a graph. Sources: the state dictionaries of transformers'
// BertModel, BertFor... and DistilBert... classes, and its index of files in parts.
#include <filesystem>
#include <map>
#include <set>

#include "core/format.h"
#include "core/json.h"
#include "models/bert_builder.h"
#include "models/bert_config.h"
#include "models/hugging_face_names.h"
#include "models/safetensors.h"
#include <nlohmann/json.hpp>

#include "octet/hugging_face.h"

namespace octet {
namespace {
namespace fs = std::filesystem;

constexpr size_t kMaxConfigBytes = size_t{16} << 20;
constexpr size_t kMaxParts = 1024;

struct Weights {
  std::string file; ///< for messages
  std::map<std::string, Tensor, std::less<>> by_name;
};

Status add_file(const std::string& path, Weights& out) {
  for (NamedWeight& w : OCTET_TRY(read_safetensors(path)))
    if (!out.by_name.emplace(w.name, std::move(w.tensor)).second)
      return error("{}: tensor \"{}\" is in another part too; write the parts again", path, w.name);
  return ok_status();
}

/// {"weight_map": {"name": "model-00001-of-00002.safetensors", ...}}
Result<std::set<std::string>> parts_of(const std::string& path) {
  const std::string text = OCTET_TRY(read_file(path, kMaxConfigBytes));
  const nlohmann::json json = OCTET_TRY_WITH(parse_json(text), path);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    return error("{}: has no object \"weight_map\"; it is no index of safetensors files", path);
  std::set<std::string> parts;
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string() ||
        fs::path(file.get<std::string>()).filename() != file.get<std::string>())
      return error("{}: \"{}\" names no file of the same folder", path, name);
    parts.insert(file.get<std::string>());
  }
  if (parts.size() > kMaxParts) return error("{}: names {} files", path, parts.size());
  return parts;
}

Result<Weights> read_weights(const fs::path& folder) {
  Weights out;
  std::error_code ignored;
  const fs::path whole = folder / "model.safetensors", index = whole.string() + ".index.json";
  if (fs::exists(whole, ignored) || !fs::exists(index, ignored)) {
    if (!fs::exists(whole, ignored) && fs::exists(folder / "pytorch_model.bin", ignored))
      return error("{}: holds pytorch_model.bin, which can run code when it is read; convert it to "
                   "model.safetensors with save_pretrained",
                   folder.string());
    out.file = whole.string();
    OCTET_TRY(add_file(whole.string(), out));
    return out;
  }
  out.file = index.string();
  for (const std::string& part : OCTET_TRY(parts_of(index.string())))
    OCTET_TRY(add_file((folder / part).string(), out));
  return out;
}

/// Of a head rather than of the encoder: what a file may lack.
bool is_head_parameter(const std::string& name) {
  return !name.starts_with("bert.") || name.starts_with("bert.pooler.");
}

Result<Tensor> as_parameter(const Tensor& found, const BertParameter& p) {
  Shape shape = p.shape;
  if (p.turned) std::swap(shape[0], shape[1]);
  if (found.shape() != shape)
    return error("is {}, by config.json it is {}; the two files do not belong together",
                 to_string(found.shape()), to_string(shape));
  Tensor t = found;
  if (t.type() != DType::kFloat32) {
    if (!is_float(t.type())) return error("is {}, not a float type", name(t.type()));
    t = Tensor::of<float>(shape, std::span<const float>(OCTET_TRY(found.to_floats())));
  }
  return p.turned ? turned_matrix(t) : Result<Tensor>(t);
}

/// Buffers that are no weights, and the second name of the tied ones.
bool is_expected(std::string_view name) {
  for (const std::string_view end : {"position_ids", "cls.predictions.decoder.weight",
                                     "cls.predictions.decoder.bias", "vocab_projector.weight"})
    if (name.ends_with(end)) return true;
  return false;
}

class Importer {
 public:
  /// `new_labels`: they were given, so a classifier of another number of classes is of no use.
  Importer(const BertOptions& options, bool new_labels, const Weights& weights)
      : options_(options), weights_(weights), new_labels_(new_labels) {
    // A checkpoint of a language model has no pooler; a bare encoder does without one then.
    if (options_.head == BertHead::kNone) options_.pooler = has("bert.pooler.dense.weight");
  }

  Result<ImportedModel> run() {
    OCTET_TRY(check_tied());
    ImportedModel out;
    out.graph = OCTET_TRY(build_bert(options_, [&](const BertParameter& p) { return find(p); }));
    for (const auto& [name, tensor] : weights_.by_name)
      if (!used_.contains(name) && !is_expected(name)) out.unused.push_back(name);
    out.fresh = std::move(fresh_);
    out.replaced = std::move(replaced_);
    out.file_classes = file_classes_;
    return out;
  }

 private:
  Result<Tensor> find(const BertParameter& p) {
    const auto names = hugging_face_names(p.name, options_.family, options_.head);
    for (const std::string& name : names) {
      const auto at = weights_.by_name.find(name);
      if (at == weights_.by_name.end()) continue;
      used_.insert(name);
      if (new_labels_ && p.name.starts_with("classifier.") && at->second.rank() > 0 &&
          at->second.dim(0) != p.shape[0]) {
        replaced_.push_back(p.name);
        file_classes_ = at->second.dim(0);
        return initial_bert_parameter(options_, p);
      }
      return as_parameter(at->second, p)
          .with(fmt::format("{}: tensor \"{}\"", weights_.file, name));
    }
    if (!is_head_parameter(p.name))
      return error(ErrorCode::kNotFound, "{}: has no tensor \"{}\"; config.json asks for it",
                   weights_.file, names.front());
    fresh_.push_back(p.name);
    return initial_bert_parameter(options_, p);
  }

  bool has(std::string_view parameter) const {
    for (const std::string& name : hugging_face_names(parameter, options_.family, options_.head))
      if (weights_.by_name.contains(name)) return true;
    return false;
  }

  /// A decoder of its own would be lost: our graph has the word embeddings in its place.
  Status check_tied() const {
    const char* decoder = options_.family == BertFamily::kBert ? "cls.predictions.decoder.weight"
                                                               : "vocab_projector.weight";
    const bool masked =
        options_.head == BertHead::kMaskedLm || options_.head == BertHead::kPretraining;
    const auto at = weights_.by_name.find(decoder);
    if (!masked || at == weights_.by_name.end()) return ok_status();
    const auto words = hugging_face_names("bert.embeddings.word_embeddings.weight", options_.family,
                                          options_.head);
    for (const std::string& name : words)
      if (const auto w = weights_.by_name.find(name); w != weights_.by_name.end())
        if (!w->second.identical(at->second))
          return error(ErrorCode::kUnsupported,
                       "{}: \"{}\" differs from the word embeddings; octet builds models where "
                       "they are tied",
                       weights_.file, decoder);
    return ok_status();
  }

  BertOptions options_;
  const Weights& weights_;
  bool new_labels_;
  std::vector<std::string> fresh_, replaced_;
  int64_t file_classes_ = 0;
  std::set<std::string, std::less<>> used_;
};

} // namespace

Result<ImportedModel> import_hugging_face(const std::string& folder,
                                          const HuggingFaceImport& options) {
  const fs::path root(folder);
  const std::string config = (root / "config.json").string();
  const std::string text = OCTET_TRY(read_file(config, kMaxConfigBytes));
  BertOptions bert = OCTET_TRY_WITH(parse_bert_config(text), config);
  if (options.head) bert.head = *options.head;
  if (!options.labels.empty()) bert.labels = options.labels;
  bert.token_type_input = options.token_type_input;
  bert.gather_masked = options.gather_masked;
  bert.index_type = options.index_type;
  bert.opset = options.opset;
  bert.seed = options.seed;
  const Weights weights = OCTET_TRY(read_weights(root));
  return Importer(bert, !options.labels.empty(), weights).run();
}

} // namespace octet
