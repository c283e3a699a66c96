// SPDX-License-Identifier: Apache-2.0
// BertOptions to config.json and back. Sources: the configurations that Hugging Face's BertConfig
// and DistilBertConfig write; unknown keys are theirs to have, so they are passed over.
#include "models/bert_config.h"

#include <algorithm>

#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include <nlohmann/json.hpp>

namespace octet {
namespace {

using Json = nlohmann::json;

/// What the two families call the same thing.
struct Keys {
  const char *hidden, *layers, *heads, *intermediate, *activation, *dropout, *attention_dropout,
      *classifier_dropout;
};
constexpr Keys kBertKeys = {
    "hidden_size", "num_hidden_layers",   "num_attention_heads",          "intermediate_size",
    "hidden_act",  "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"};
constexpr Keys kDistilKeys = {"dim",        "n_layers", "n_heads",           "hidden_dim",
                              "activation", "dropout",  "attention_dropout", "seq_classif_dropout"};

const Keys& keys_of(BertFamily family) {
  return family == BertFamily::kBert ? kBertKeys : kDistilKeys;
}

struct Architecture {
  const char* name;
  BertFamily family;
  BertHead head;
};
constexpr Architecture kArchitectures[] = {
    {"BertModel", BertFamily::kBert, BertHead::kNone},
    {"BertForSequenceClassification", BertFamily::kBert, BertHead::kClassification},
    {"BertForMaskedLM", BertFamily::kBert, BertHead::kMaskedLm},
    {"BertForPreTraining", BertFamily::kBert, BertHead::kPretraining},
    {"DistilBertModel", BertFamily::kDistilBert, BertHead::kNone},
    {"DistilBertForSequenceClassification", BertFamily::kDistilBert, BertHead::kClassification},
    {"DistilBertForMaskedLM", BertFamily::kDistilBert, BertHead::kMaskedLm}};

constexpr std::pair<const char*, BertActivation> kActivations[] = {
    {"gelu", BertActivation::kGelu},
    {"relu", BertActivation::kRelu},
    {"gelu_new", BertActivation::kGeluTanh},
    {"gelu_pytorch_tanh", BertActivation::kGeluTanh}};

/// Reads typed members; remembers the first that does not fit.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  void read(const char* key, int64_t& out) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_number_integer() || (item->is_number_unsigned() && *item > uint64_t{INT64_MAX}))
      return fail(key, "a whole number");
    out = item->get<int64_t>();
  }
  void read(const char* key, double& out) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_number()) return fail(key, "a number");
    out = item->get<double>();
  }
  void read(const char* key, bool& out) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_boolean()) return fail(key, "true or false");
    out = item->get<bool>();
  }
  void read(const char* key, std::string& out) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_string()) return fail(key, "text");
    out = item->get<std::string>();
  }
  /// Null counts as absent.
  const Json* find(const char* key) const {
    const auto at = json_.find(key);
    return at == json_.end() || at->is_null() ? nullptr : &*at;
  }
  void fail(const char* key, std::string_view wanted) {
    if (problem_.empty()) problem_ = fmt::format("\"{}\" is not {}; correct it", key, wanted);
  }
  Status finish() const { return problem_.empty() ? ok_status() : Status(Error(problem_)); }

 private:
  const Json& json_;
  std::string problem_;
};

/// {"0": "negative", "1": "positive"}, every number below the count once.
Result<std::vector<std::string>> read_labels(const Json& map) {
  constexpr size_t kMaxLabels = 65536;
  if (!map.is_object() || map.size() > kMaxLabels)
    return error("\"id2label\" is no object of at most {} names", kMaxLabels);
  std::vector<std::string> labels(map.size());
  std::vector<bool> seen(map.size());
  for (const auto& [key, value] : map.items()) {
    size_t index = labels.size();
    const bool digits =
        !key.empty() && key.size() < 6 && key.find_first_not_of("0123456789") == std::string::npos;
    if (digits) index = static_cast<size_t>(std::stoul(key));
    if (index >= labels.size() || seen[index] || !value.is_string())
      return error("\"id2label\" has the entry \"{}\"; it wants a name for each of 0 .. {}", key,
                   labels.size() - 1);
    seen[index] = true;
    labels[index] = value.get<std::string>();
  }
  return labels;
}

Status read_activation(const char* key, Reader& in, BertOptions& o) {
  std::string text = "gelu";
  in.read(key, text);
  std::vector<std::string> names;
  for (const auto& [name, value] : kActivations) {
    names.emplace_back(name);
    if (text != name) continue;
    o.activation = value;
    return ok_status();
  }
  return error("the activation \"{}\" is none that octet builds{}", text, suggestion(text, names));
}

Status read_head(const Json& json, BertOptions& o) {
  const auto at = json.find("architectures");
  if (at == json.end() || !at->is_array() || at->empty() || !at->front().is_string())
    return ok_status();
  const std::string text = at->front().get<std::string>();
  for (const Architecture& a : kArchitectures)
    if (text == a.name && a.family == o.family) o.head = a.head;
  return ok_status();
}

/// Values that would make it another network.
Status check_variant(const Json& json) {
  const auto position = json.find("position_embedding_type");
  if (position != json.end() && position->is_string() && *position != "absolute")
    return error("\"position_embedding_type\" is \"{}\"; octet builds absolute ones",
                 position->get<std::string>());
  for (const char* key : {"is_decoder", "add_cross_attention"})
    if (const auto at = json.find(key); at != json.end() && at->is_boolean() && at->get<bool>())
      return error("\"{}\" is true; octet builds encoders", key);
  return ok_status();
}

} // namespace

std::string bert_config_json(const BertOptions& o) {
  const Keys& k = keys_of(o.family);
  nlohmann::ordered_json out;
  for (const Architecture& a : kArchitectures)
    if (a.family == o.family && a.head == o.head) out["architectures"] = {a.name};
  const bool bert = o.family == BertFamily::kBert;
  out["model_type"] = bert ? "bert" : "distilbert";
  out["vocab_size"] = o.vocabulary;
  out["max_position_embeddings"] = o.positions;
  if (bert) out["type_vocab_size"] = o.type_vocabulary;
  out[k.hidden] = o.hidden;
  out[k.layers] = o.layers;
  out[k.heads] = o.heads;
  out[k.intermediate] = o.intermediate;
  for (const auto& [name, value] : kActivations)
    if (value == o.activation && !out.contains(k.activation)) out[k.activation] = name;
  out[k.dropout] = o.dropout;
  out[k.attention_dropout] = o.attention_dropout;
  if (o.classifier_dropout >= 0)
    out[k.classifier_dropout] = o.classifier_dropout;
  else if (!bert) // whose default is a number, where BERT's is the other dropout
    out[k.classifier_dropout] = o.dropout;
  if (bert) out["layer_norm_eps"] = o.layer_norm_epsilon;
  out["initializer_range"] = o.initializer_range;
  out["pad_token_id"] = 0;
  if (o.head == BertHead::kClassification) {
    for (size_t i = 0; i < o.labels.size(); ++i) {
      out["id2label"][std::to_string(i)] = o.labels[i];
      out["label2id"][o.labels[i]] = i;
    }
  }
  out["octet_pooler"] = o.pooler;
  out["octet_token_type_input"] = o.token_type_input;
  out["octet_gather_masked"] = o.gather_masked;
  out["octet_index_type"] = name(o.index_type);
  out["octet_opset"] = o.opset;
  out["octet_seed"] = o.seed;
  return json_text(out);
}

Result<BertOptions> parse_bert_config(std::string_view text) {
  const Json json = OCTET_TRY(parse_json(text));
  if (!json.is_object()) return Error("is no JSON object; it is a model's config.json");
  BertOptions o;
  Reader in(json);
  std::string type = "none";
  in.read("model_type", type);
  if (type != "bert" && type != "distilbert")
    return error(ErrorCode::kUnsupported,
                 "\"model_type\" is \"{}\"; octet imports bert and distilbert", type);
  o.family = type == "bert" ? BertFamily::kBert : BertFamily::kDistilBert;
  OCTET_TRY(check_variant(json));
  const Keys& k = keys_of(o.family);
  const bool bert = o.family == BertFamily::kBert;
  o.type_vocabulary = bert ? 2 : 0;
  o.hidden = 768;
  o.layers = bert ? 12 : 6;
  o.heads = 12;
  o.intermediate = 3072;
  in.read("vocab_size", o.vocabulary);
  in.read("max_position_embeddings", o.positions);
  if (bert) in.read("type_vocab_size", o.type_vocabulary);
  in.read(k.hidden, o.hidden);
  in.read(k.layers, o.layers);
  in.read(k.heads, o.heads);
  in.read(k.intermediate, o.intermediate);
  OCTET_TRY(read_activation(k.activation, in, o));
  in.read(k.dropout, o.dropout);
  in.read(k.attention_dropout, o.attention_dropout);
  if (!bert) o.classifier_dropout = 0.2;
  in.read(k.classifier_dropout, o.classifier_dropout);
  if (bert) in.read("layer_norm_eps", o.layer_norm_epsilon);
  in.read("initializer_range", o.initializer_range);
  o.pooler = bert;
  in.read("octet_pooler", o.pooler);
  in.read("octet_token_type_input", o.token_type_input);
  in.read("octet_gather_masked", o.gather_masked);
  in.read("octet_opset", o.opset);
  std::string index = "i64";
  in.read("octet_index_type", index);
  o.index_type = parse_dtype(index).value_or(DType::kUndefined);
  if (const Json* seed = in.find("octet_seed"); seed != nullptr && seed->is_number_unsigned())
    o.seed = seed->get<uint64_t>();
  if (const Json* labels = in.find("id2label")) o.labels = OCTET_TRY(read_labels(*labels));
  OCTET_TRY(read_head(json, o));
  OCTET_TRY(in.finish());
  OCTET_TRY(check_bert_options(o));
  return o;
}

} // namespace octet
