// SPDX-License-Identifier: Apache-2.0
// Records of JSON lines: an object a line.
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/records.h"
#include <nlohmann/json.hpp>

namespace octet {
namespace {

using Json = nlohmann::json;

Result<Json> parse_object(std::string_view line) {
  Result<Json> parsed = parse_json(line);
  if (!parsed.ok()) return error("no valid JSON; write one object a line");
  Json json = std::move(*parsed);
  if (!json.is_object())
    return error("a JSON {}, not an object; write one object a line", json.type_name());
  return json;
}

Error no_key(const Json& json, const std::string& key) {
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items())
    names.push_back(name);
  return error(ErrorCode::kNotFound, "no key \"{}\"{}", key, suggestion(key, names));
}

Result<std::string> text_of(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end()) return no_key(json, key);
  if (!found->is_string())
    return error("\"{}\" is a {}; texts are strings", key, found->type_name());
  return found->get<std::string>();
}

Result<std::string> label_of(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end()) return no_key(json, key);
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer() || found->is_boolean()) return json_text(*found, -1);
  return error("\"{}\" is a {}; labels are integers, strings or booleans", key, found->type_name());
}

class JsonReader final : public RecordReader {
 public:
  JsonReader(TextFile file, RecordColumns columns)
      : file_(std::move(file)), columns_(std::move(columns)) {}

  Status open() {
    const std::string_view text = file_.text();
    size_t at = 0;
    std::string_view line;
    while (at < text.size() && is_blank(line)) {
      begin_ = at;
      line = next_line(text, at);
    }
    if (is_blank(line)) return error("{} is empty; name a file with objects", file_.name());
    const Json json = OCTET_TRY_WITH(parse_object(line), file_.place(begin_));
    if (!columns_.label && columns_.label_if_present && json.contains("label"))
      columns_.label = "label";
    return ok_status();
  }

  size_t begin() const override { return begin_; }
  bool pairs() const override { return columns_.text2.has_value(); }
  bool labelled() const override { return columns_.label.has_value(); }

  Result<size_t> read(size_t at, RawRecord& out) const override {
    const Json json = OCTET_TRY(parse_object(next_line(file_.text(), at)));
    out.text = OCTET_TRY(text_of(json, columns_.text));
    out.text2 = columns_.text2 ? OCTET_TRY(text_of(json, *columns_.text2)) : std::string();
    out.label = columns_.label ? OCTET_TRY(label_of(json, *columns_.label)) : std::string();
    return at;
  }

 private:
  TextFile file_;
  RecordColumns columns_;
  size_t begin_ = 0;
};

} // namespace

Result<std::unique_ptr<RecordReader>> make_json_reader(const TextFile& file,
                                                       const RecordColumns& columns) {
  auto reader = std::make_unique<JsonReader>(file, columns);
  OCTET_TRY(reader->open());
  return std::unique_ptr<RecordReader>(std::move(reader));
}

} // namespace octet
