// SPDX-License-Identifier: Apache-2.0
// The public Tokenizer over text/model.h: loading, encoding, decoding.
#include "octet/tokenizer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "core/atomic_file.h"
#include "core/check.h"
#include "core/format.h"
#include "core/hash.h"
#include "core/threads.h"
#include "core/utf8.h"
#include "text/model.h"
#include "text/tokenizer_json.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using text::Tokens;

Tokens tokenize(const Tokenizer::Impl& model,
                std::string_view text,
                const EncodeOptions& options,
                size_t limit) {
  Tokens out;
  out.want_offsets = options.offsets;
  out.want_words = options.words;
  out.ids.reserve(std::min(text.size() / 3 + 4, limit) + 2);
  while (!text.empty() && out.ids.size() < limit) {
    const text::Split split = model.added.next(text);
    model.wordpiece.encode(split.before, limit, out);
    if (split.added < 0 || out.ids.size() >= limit) break;
    const auto characters = static_cast<uint32_t>(
        count_characters(text.substr(split.before.size(), split.added_bytes)));
    out.emit(split.added, out.characters, out.characters + characters);
    ++out.word_count;
    out.characters += characters;
    text.remove_prefix(split.before.size() + split.added_bytes);
  }
  return out;
}

void append_special(Encoding& out, const EncodeOptions& options, int32_t id) {
  out.ids.push_back(id);
  if (options.offsets) out.offsets.push_back({0, 0});
  if (options.words) out.words.push_back(-1);
}

void append(Encoding& out, const Tokens& tokens, size_t count) {
  const auto copy = [&](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.begin() + static_cast<ptrdiff_t>(count));
  };
  copy(out.ids, tokens.ids);
  if (tokens.want_offsets) copy(out.offsets, tokens.offsets);
  if (tokens.want_words) copy(out.words, tokens.words);
}

/// How many tokens a text or pair may have without the special ones.
size_t room(const EncodeOptions& options, int64_t special) {
  if (options.max_length <= 0) return std::numeric_limits<size_t>::max();
  return static_cast<size_t>(
      std::max<int64_t>(options.max_length - (options.special_tokens ? special : 0), 0));
}

/// Longest first: the longer text is cut down to the shorter one's length before that is cut too.
std::pair<size_t, size_t> truncate(size_t first, size_t second, size_t limit) {
  if (first + second <= limit) return {first, second};
  const size_t shorter = std::min(first, second);
  const size_t longer = std::max(shorter, limit - std::min(shorter, limit));
  std::pair<size_t, size_t> cut = {shorter, longer};
  if (shorter + longer > limit) cut = {limit / 2, limit - limit / 2};
  return first > second ? std::pair(cut.second, cut.first) : cut;
}

/// Texts are handed out to threads in portions of about this much work.
int64_t grain_of(std::span<const std::string_view> texts) {
  size_t bytes = 1;
  for (const std::string_view text : texts)
    bytes += text.size();
  const size_t mean = bytes / std::max<size_t>(texts.size(), 1) + 1;
  return grain_for(10.0 * static_cast<double>(mean));
}

template <class Encode>
std::vector<Encoding>
parallel(std::span<const std::string_view> texts, int threads, Encode encode) {
  std::vector<Encoding> out(texts.size());
  const auto part = [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      out[i] = encode(i);
  };
  if (threads == 1) {
    part(0, static_cast<int64_t>(texts.size()));
  } else {
    ThreadPool(threads).run(static_cast<int64_t>(texts.size()), grain_of(texts), part);
  }
  return out;
}

} // namespace

Tokenizer::Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Tokenizer> Tokenizer::load(const std::string& path) {
  std::string file = path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const auto in_folder = [&](const char* name) { return (fs::path(path) / name).string(); };
    file = in_folder("tokenizer.json");
    if (!fs::exists(file, ignored)) file = in_folder("vocab.txt");
    if (!fs::exists(file, ignored))
      return error(ErrorCode::kNotFound,
                   "the folder {} holds neither tokenizer.json nor vocab.txt; name the file", path);
  }
  const bool json = fs::path(file).extension() == ".json";
  text::Description description =
      json ? OCTET_TRY(text::read_tokenizer_json(file)) : OCTET_TRY(text::read_vocabulary(file));
  return text::build(std::move(description)).with(file);
}

Result<Tokenizer> Tokenizer::create(std::vector<std::string> vocabulary,
                                    const NormalizerOptions& options) {
  text::Description description;
  description.tokens = std::move(vocabulary);
  description.in_model = description.tokens.size();
  description.normalizer = options;
  return text::build(std::move(description));
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const size_t limit = room(options, 2);
  Tokens tokens = tokenize(*impl_, text, options, limit);
  Encoding out;
  if (options.special_tokens) {
    append_special(out, options, impl_->cls);
    append(out, tokens, std::min(tokens.ids.size(), limit));
    append_special(out, options, impl_->sep);
  } else {
    tokens.shrink(std::min(tokens.ids.size(), limit));
    out.ids = std::move(tokens.ids);
    out.offsets = std::move(tokens.offsets);
    out.words = std::move(tokens.words);
  }
  out.type_ids.assign(out.ids.size(), 0);
  out.special.assign(out.ids.size(), 0);
  if (options.special_tokens) out.special.front() = out.special.back() = 1;
  return out;
}

Encoding Tokenizer::encode(std::string_view first,
                           std::string_view second,
                           const EncodeOptions& options) const {
  const size_t limit = room(options, 3);
  // Of an odd number of tokens the longer text gets one more, so that the lengths must be known.
  const size_t enough = limit % 2 == 0 ? limit : std::numeric_limits<size_t>::max();
  const Tokens a = tokenize(*impl_, first, options, enough);
  const Tokens b = tokenize(*impl_, second, options, enough);
  const auto [a_count, b_count] =
      truncate(std::min(a.ids.size(), enough), std::min(b.ids.size(), enough), limit);
  Encoding out;
  const size_t around = options.special_tokens ? 1 : 0;
  if (options.special_tokens) append_special(out, options, impl_->cls);
  append(out, a, a_count);
  if (options.special_tokens) append_special(out, options, impl_->sep);
  append(out, b, b_count);
  if (options.special_tokens) append_special(out, options, impl_->sep);
  out.type_ids.assign(a_count + 2 * around, 0);
  out.type_ids.resize(out.ids.size(), 1);
  out.special.assign(out.ids.size(), 0);
  if (options.special_tokens) out.special[0] = out.special[a_count + 1] = out.special.back() = 1;
  return out;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                              const EncodeOptions& options,
                                              int threads) const {
  return parallel(texts, threads, [&](size_t i) { return encode(texts[i], options); });
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string_view> first,
                                              std::span<const std::string_view> second,
                                              const EncodeOptions& options,
                                              int threads) const {
  OCTET_CHECK_EQ(first.size(), second.size());
  return parallel(first, threads, [&](size_t i) { return encode(first[i], second[i], options); });
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  constexpr std::array<std::string_view, 9> kCloseUp = {".",  "?",  "!",   ",",  "n't",
                                                        "'m", "'s", "'ve", "'re"};
  std::string out;
  bool first = true;
  for (const int32_t id : ids) {
    if (id < 0 || id >= size() || impl_->special[static_cast<size_t>(id)]) continue;
    std::string_view token = impl_->tokens[static_cast<size_t>(id)];
    if (!first && token.starts_with("##")) {
      token.remove_prefix(2);
    } else if (!first && std::none_of(kCloseUp.begin(), kCloseUp.end(),
                                      [&](std::string_view s) { return token.starts_with(s); })) {
      out += ' ';
    }
    out += token;
    first = false;
  }
  return out;
}

int64_t Tokenizer::size() const {
  return static_cast<int64_t>(impl_->tokens.size());
}
std::string_view Tokenizer::token(int32_t id) const {
  return id < 0 || id >= size() ? std::string_view() : impl_->tokens[static_cast<size_t>(id)];
}
int32_t Tokenizer::id(std::string_view token) const {
  return impl_->find(token);
}
int32_t Tokenizer::pad() const {
  return impl_->pad;
}
int32_t Tokenizer::cls() const {
  return impl_->cls;
}
int32_t Tokenizer::sep() const {
  return impl_->sep;
}
int32_t Tokenizer::unk() const {
  return impl_->unk;
}
int32_t Tokenizer::mask() const {
  return impl_->mask;
}
bool Tokenizer::continues_word(int32_t id) const {
  return token(id).starts_with("##") && token(id).size() > 2;
}
const NormalizerOptions& Tokenizer::normalizer() const {
  return impl_->wordpiece.options();
}

std::string Tokenizer::hash() const {
  const NormalizerOptions& n = normalizer();
  std::string out;
  for (const uint64_t seed : {1, 2}) {
    uint64_t hash = seed;
    for (const std::string& token : impl_->tokens)
      hash = hash_value(hash_bytes(token), hash);
    for (const text::AddedToken& token : impl_->added.list())
      hash = hash_value(static_cast<uint64_t>(token.id) << 1 | (token.special ? 1 : 0), hash);
    const uint64_t settings[] = {n.clean_text,
                                 n.handle_chinese_chars,
                                 static_cast<uint64_t>(n.strip_accents),
                                 n.lowercase,
                                 impl_->in_model,
                                 impl_->wordpiece.max_characters(),
                                 static_cast<uint64_t>(impl_->unk),
                                 static_cast<uint64_t>(impl_->cls),
                                 static_cast<uint64_t>(impl_->sep),
                                 static_cast<uint64_t>(impl_->pad),
                                 static_cast<uint64_t>(impl_->mask)};
    for (const uint64_t value : settings)
      hash = hash_value(value, hash);
    out += fmt::format("{:016x}", hash);
  }
  return out;
}

Status Tokenizer::save(const std::string& folder) const {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return error("cannot make the folder {}: {}", folder, failed.message());
  const std::string vocabulary = OCTET_TRY(text::write_vocabulary(impl_->tokens));
  const fs::path to(folder);
  OCTET_TRY(write_file(to / "vocab.txt", vocabulary, Overwrite::kYes));
  OCTET_TRY(write_file(to / "tokenizer_config.json", text::write_tokenizer_config(*impl_),
                       Overwrite::kYes));
  return write_file(to / "tokenizer.json", text::write_tokenizer_json(*impl_), Overwrite::kYes);
}

} // namespace octet
