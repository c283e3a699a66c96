// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_json.h"

#include <limits>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include <nlohmann/json.hpp>

namespace octet::text {
namespace {

using Json = nlohmann::json;
using StripAccents = NormalizerOptions::StripAccents;

Result<Json> parse_object(const std::string& content) {
  Json json = OCTET_TRY(parse_json(content));
  if (!json.is_object()) return error("not a JSON object; is it a tokenizer's file?");
  return json;
}

/// A member, or null.
const Json& member(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto at = object.find(key);
  return at == object.end() ? none : *at;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

Status read_flag(const Json& object, const char* key, bool& out) {
  const Json& value = member(object, key);
  if (value.is_null()) return ok_status();
  if (!value.is_boolean())
    return error("\"{}\" is {}; it must be true or false", key, json_text(value, -1));
  out = value.get<bool>();
  return ok_status();
}

Status read_strip_accents(const Json& object, StripAccents& out) {
  if (member(object, "strip_accents").is_null()) return ok_status();
  bool strip = false;
  OCTET_TRY(read_flag(object, "strip_accents", strip));
  out = strip ? StripAccents::kYes : StripAccents::kNo;
  return ok_status();
}

/// `object[key].type` must be one of BERT's.
Result<std::string> check_type(const Json& json, const char* key, std::string_view expected) {
  const std::string type = text_of(member(member(json, key), "type"));
  if (type != expected)
    return error("its {} is {}, octet reads {}; use the tokenizer of a BERT model", key,
                 type.empty() ? "missing" : type, expected);
  return type;
}

Status read_normalizer(const Json& json, NormalizerOptions& out) {
  OCTET_TRY(check_type(json, "normalizer", "BertNormalizer"));
  const Json& normalizer = json["normalizer"];
  OCTET_TRY(read_flag(normalizer, "clean_text", out.clean_text));
  OCTET_TRY(read_flag(normalizer, "handle_chinese_chars", out.handle_chinese_chars));
  OCTET_TRY(read_flag(normalizer, "lowercase", out.lowercase));
  return read_strip_accents(normalizer, out.strip_accents);
}

/// Puts a token at its id, below `limit`; ids may come in any order.
Status
place(std::vector<std::string>& tokens, const std::string& token, const Json& id, size_t limit) {
  if (!id.is_number_unsigned() || id >= limit)
    return error("the id of \"{}\" is {}; ids of {} tokens are from 0 to {}", token,
                 json_text(id, -1), limit, limit - 1);
  const auto at = id.get<size_t>();
  if (at >= tokens.size()) tokens.resize(at + 1);
  if (!tokens[at].empty() && tokens[at] != token)
    return error("\"{}\" and \"{}\" both have the id {}; ids must differ", tokens[at], token, at);
  tokens[at] = token;
  return ok_status();
}

Status check_no_gap(const std::vector<std::string>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].empty())
      return error("no token has the id {}, though there are ids up to {}; ids must have no gaps",
                   i, tokens.size() - 1);
  return ok_status();
}

Status read_model(const Json& json, Description& out) {
  const Json& model = member(json, "model");
  // Files of old versions do not name the type.
  const bool typed = !member(model, "type").is_null();
  if (typed || !member(model, "merges").is_null())
    OCTET_TRY(check_type(json, "model", "WordPiece"));
  const Json& vocabulary = member(model, "vocab");
  if (!vocabulary.is_object())
    return error("its model has no \"vocab\" that maps tokens to ids; use the tokenizer of a BERT "
                 "model");
  const Json& prefix = member(model, "continuing_subword_prefix");
  if (!prefix.is_null() && prefix != "##")
    return error("its continuing_subword_prefix is {}, octet reads \"##\"", json_text(prefix, -1));
  const Json& longest = member(model, "max_input_chars_per_word");
  if (!longest.is_null()) {
    if (!longest.is_number_unsigned() || longest > 100000)
      return error("max_input_chars_per_word is {}; it must be from 0 to 100000",
                   json_text(longest, -1));
    out.max_characters = longest.get<size_t>();
  }
  if (member(model, "unk_token").is_string()) out.unk = text_of(model["unk_token"]);
  for (const auto& [token, id] : vocabulary.items())
    OCTET_TRY(place(out.tokens, token, id, vocabulary.size()));
  out.in_model = out.tokens.size();
  return check_no_gap(out.tokens);
}

Status read_added(const Json& json, Description& out) {
  const Json& list = member(json, "added_tokens");
  if (list.is_null()) return ok_status();
  if (!list.is_array()) return error("\"added_tokens\" is not a list");
  for (const Json& entry : list) {
    const std::string content = text_of(member(entry, "content"));
    if (content.empty()) return error("an added token has no \"content\"");
    bool special = false;
    OCTET_TRY_WITH(read_flag(entry, "special", special), content);
    for (const char* key : {"single_word", "lstrip", "rstrip", "normalized"}) {
      bool set = false;
      OCTET_TRY_WITH(read_flag(entry, key, set), content);
      if (set)
        return error("the added token \"{}\" has \"{}\" set, which octet does not do; set it to "
                     "false",
                     content, key);
    }
    const Json& id = member(entry, "id");
    OCTET_TRY(place(out.tokens, content, id, out.in_model + list.size()));
    out.added.push_back({id.get<int32_t>(), special});
  }
  return check_no_gap(out.tokens);
}

/// The text form of a template: `[CLS]:0 $A:0 [SEP]:0`.
std::string describe_template(const Json& pieces, std::vector<std::string>& names) {
  std::string out;
  if (!pieces.is_array()) return out;
  for (const Json& piece : pieces) {
    const bool sequence = piece.is_object() && piece.contains("Sequence");
    const Json& part = member(piece, sequence ? "Sequence" : "SpecialToken");
    if (!out.empty()) out += ' ';
    if (!sequence) names.push_back(text_of(member(part, "id")));
    out += sequence ? "$" + text_of(member(part, "id")) : "special";
    out += ":" + json_text(member(part, "type_id"), -1);
  }
  return out;
}

Status read_post_processor(const Json& json, Description& out) {
  const Json& post = member(json, "post_processor");
  if (text_of(member(post, "type")) == "BertProcessing") {
    const auto name = [&](const char* key) {
      const Json& pair = member(post, key);
      return pair.is_array() && !pair.empty() ? text_of(pair[0]) : std::string();
    };
    out.cls = name("cls");
    out.sep = name("sep");
    return ok_status();
  }
  OCTET_TRY(check_type(json, "post_processor", "TemplateProcessing"));
  std::vector<std::string> single;
  std::vector<std::string> pair;
  const std::string form = describe_template(member(post, "single"), single) + " | " +
                           describe_template(member(post, "pair"), pair);
  if (form != "special:0 $A:0 special:0 | special:0 $A:0 special:0 $B:1 special:1" ||
      single[0] != pair[0] || single[1] != pair[1] || single[1] != pair[2])
    return error("its post_processor's template is not BERT's: [CLS] A [SEP] and "
                 "[CLS] A [SEP] B [SEP] with types 0 and 1");
  out.cls = single[0];
  out.sep = single[1];
  return ok_status();
}

Json normalizer_json(const NormalizerOptions& options) {
  Json strip;
  if (options.strip_accents != StripAccents::kAuto)
    strip = options.strip_accents == StripAccents::kYes;
  return {{"type", "BertNormalizer"},
          {"clean_text", options.clean_text},
          {"handle_chinese_chars", options.handle_chinese_chars},
          {"strip_accents", strip},
          {"lowercase", options.lowercase}};
}

nlohmann::ordered_json template_json(const Tokenizer::Impl& model) {
  using Ordered = nlohmann::ordered_json;
  const auto& name = [&](int32_t id) { return model.tokens[static_cast<size_t>(id)]; };
  const auto special = [&](int32_t id, int type) -> Ordered {
    return {{"SpecialToken", {{"id", name(id)}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* which, int type) -> Ordered {
    return {{"Sequence", {{"id", which}, {"type_id", type}}}};
  };
  const auto entry = [&](int32_t id) -> Ordered {
    return {
        {"id", name(id)}, {"ids", Ordered::array({id})}, {"tokens", Ordered::array({name(id)})}};
  };
  Ordered out = {{"type", "TemplateProcessing"}};
  out["single"] = Ordered::array({special(model.cls, 0), sequence("A", 0), special(model.sep, 0)});
  out["pair"] = Ordered::array({special(model.cls, 0), sequence("A", 0), special(model.sep, 0),
                                sequence("B", 1), special(model.sep, 1)});
  out["special_tokens"] = {{name(model.cls), entry(model.cls)},
                           {name(model.sep), entry(model.sep)}};
  return out;
}

} // namespace

Result<Description> parse_tokenizer_json(const std::string& content) {
  const Json json = OCTET_TRY(parse_object(content));
  Description out;
  OCTET_TRY(read_model(json, out));
  OCTET_TRY(read_normalizer(json, out.normalizer));
  OCTET_TRY(check_type(json, "pre_tokenizer", "BertPreTokenizer"));
  OCTET_TRY(read_post_processor(json, out));
  OCTET_TRY(read_added(json, out));
  return out;
}

Result<Description> read_tokenizer_json(const std::string& path) {
  return parse_tokenizer_json(OCTET_TRY(read_file(path, kMaxFileBytes))).with(path);
}

Status read_tokenizer_config(const std::string& path, Description& out) {
  const std::string content = OCTET_TRY(read_file(path, kMaxFileBytes));
  const Json json = OCTET_TRY_WITH(parse_object(content), path);
  OCTET_TRY_WITH(read_flag(json, "do_lower_case", out.normalizer.lowercase), path);
  OCTET_TRY_WITH(read_flag(json, "tokenize_chinese_chars", out.normalizer.handle_chinese_chars),
                 path);
  OCTET_TRY_WITH(read_strip_accents(json, out.normalizer.strip_accents), path);
  const std::pair<const char*, std::string*> names[] = {{"unk_token", &out.unk},
                                                        {"cls_token", &out.cls},
                                                        {"sep_token", &out.sep},
                                                        {"pad_token", &out.pad},
                                                        {"mask_token", &out.mask}};
  for (const auto& [key, name] : names) {
    const Json& value = member(json, key);
    const std::string text = text_of(value.is_object() ? member(value, "content") : value);
    if (!text.empty()) *name = text;
  }
  return ok_status();
}

std::string write_tokenizer_json(const Tokenizer::Impl& model) {
  nlohmann::ordered_json out;
  out["version"] = "1.0";
  out["truncation"] = nullptr;
  out["padding"] = nullptr;
  out["added_tokens"] = nlohmann::ordered_json::array();
  std::vector<AddedToken> added = model.added.list();
  std::sort(added.begin(), added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  for (const AddedToken& token : added)
    out["added_tokens"].push_back({{"id", token.id},
                                   {"content", model.tokens[static_cast<size_t>(token.id)]},
                                   {"single_word", false},
                                   {"lstrip", false},
                                   {"rstrip", false},
                                   {"normalized", false},
                                   {"special", token.special}});
  out["normalizer"] = normalizer_json(model.wordpiece.options());
  out["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  out["post_processor"] = template_json(model);
  out["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  out["model"] = {{"type", "WordPiece"},
                  {"unk_token", model.tokens[static_cast<size_t>(model.unk)]},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", model.wordpiece.max_characters()}};
  auto& vocabulary = out["model"]["vocab"] = nlohmann::ordered_json::object();
  for (size_t i = 0; i < model.in_model; ++i)
    vocabulary.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(model.tokens[i], i);
  return json_text(out) + "\n";
}

std::string write_tokenizer_config(const Tokenizer::Impl& model) {
  const auto name = [&](int32_t id) { return model.tokens[static_cast<size_t>(id)]; };
  const NormalizerOptions& options = model.wordpiece.options();
  nlohmann::ordered_json out;
  out["tokenizer_class"] = "BertTokenizer";
  out["do_lower_case"] = options.lowercase;
  out["strip_accents"] = normalizer_json(options)["strip_accents"];
  out["tokenize_chinese_chars"] = options.handle_chinese_chars;
  out["unk_token"] = name(model.unk);
  out["cls_token"] = name(model.cls);
  out["sep_token"] = name(model.sep);
  out["pad_token"] = name(model.pad);
  if (model.mask >= 0) out["mask_token"] = name(model.mask);
  return json_text(out) + "\n";
}

} // namespace octet::text
