// SPDX-License-Identifier: Apache-2.0
// Vocabularies as BERT's vocab.txt: a token a line, the line number is the id.
#include <filesystem>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/utf8.h"
#include "text/model.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace octet::text {
namespace {

/// Spaces at the end of a line do not belong to the token.
std::string_view trim_end(std::string_view line) {
  while (!line.empty()) {
    size_t last = line.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(line[last]) & 0xC0) == 0x80)
      --last;
    const Decoded c = decode_utf8(line.data() + last, line.data() + line.size());
    if (last + c.bytes != line.size() || !is_space(c.code)) break;
    line.remove_suffix(c.bytes);
  }
  return line;
}

} // namespace

Result<Description> parse_vocabulary(std::string_view content, const std::string& name) {
  Description out;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view token = trim_end(content.substr(0, end));
    if (token.empty())
      return error("line {} of {} is empty; a vocabulary has a token in every line",
                   out.tokens.size() + 1, name);
    out.tokens.emplace_back(token);
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  out.in_model = out.tokens.size();
  return out;
}

Result<Description> read_vocabulary(const std::string& path) {
  const std::string content = OCTET_TRY(read_file(path, kMaxFileBytes));
  Description out = OCTET_TRY(parse_vocabulary(content, path));
  const std::filesystem::path config =
      std::filesystem::path(path).parent_path() / "tokenizer_config.json";
  std::error_code ignored;
  if (std::filesystem::exists(config, ignored)) OCTET_TRY(read_tokenizer_config(config, out));
  return out;
}

Result<std::string> write_vocabulary(const std::vector<std::string>& tokens) {
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].find('\n') != std::string::npos || trim_end(tokens[i]).size() != tokens[i].size())
      return error("entry {} of the vocabulary holds a line feed or ends in a space; vocab.txt "
                   "cannot hold it",
                   i);
    out += tokens[i] + '\n';
  }
  return out;
}

} // namespace octet::text
