// SPDX-License-Identifier: Apache-2.0
#include "text/tokenize.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "core/atomic_file.h"
#include "core/check.h"
#include "core/format.h"
#include "core/hash.h"
#include "core/philox.h"
#include "core/progress.h"
#include "text/sentences.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Texts are tokenized in groups of about this size: enough for all threads, little memory.
constexpr size_t kGroupBytes = size_t{1} << 20;
/// Part of every key: changes with the rule for sentences or the meaning of pieces.
constexpr uint64_t kFormat = 1;

Result<std::string> default_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute())
    return (fs::path(cache) / "octet" / "tokens").string();
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0')
    return (fs::path(home) / ".cache" / "octet" / "tokens").string();
  return Error("neither HOME nor XDG_CACHE_HOME is set; name a folder for the token cache, or "
               "none");
}

Result<TokenKey> make_key(const TextSource& source,
                          std::span<const int64_t> chosen,
                          const Tokenizer& tokenizer,
                          Cut cut) {
  const uint64_t salt = hash_value(kFormat * 2 + (cut == Cut::kTexts ? 0 : 1), source.pairs());
  TokenKey key;
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = hash_bytes(tokenizer.hash(), hash_value(salt, i));
  for (const int64_t index : chosen) {
    const TextExample example = OCTET_TRY(source.example(index));
    for (const std::string* text : {&example.text, &example.text2}) {
      for (uint64_t& part : key)
        part = hash_bytes(*text, hash_value(text->size(), part));
    }
  }
  return key;
}

/// Collects pieces until a group is full, then tokenizes it.
class Group {
 public:
  Group(const Tokenizer& tokenizer, int threads, bool keep_empty, TokenStoreWriter& writer)
      : tokenizer_(tokenizer), threads_(threads), keep_empty_(keep_empty), writer_(writer) {}

  Status add_unit(std::vector<std::string> pieces) {
    for (std::string& piece : pieces) {
      bytes_ += piece.size();
      pieces_.push_back(std::move(piece));
    }
    unit_ends_.push_back(pieces_.size());
    if (bytes_ >= kGroupBytes) return flush();
    return ok_status();
  }

  Status flush() {
    const std::vector<std::string_view> views(pieces_.begin(), pieces_.end());
    EncodeOptions options;
    options.special_tokens = false;
    const std::vector<Encoding> encoded = tokenizer_.encode_batch(views, options, threads_);
    size_t piece = 0;
    for (const size_t end : unit_ends_) {
      bool any = keep_empty_;
      for (; piece < end; ++piece) {
        if (encoded[piece].ids.empty() && !keep_empty_) continue;
        any = true;
        OCTET_TRY(writer_.add_piece(encoded[piece].ids));
      }
      if (any) writer_.end_unit();
    }
    pieces_.clear();
    unit_ends_.clear();
    bytes_ = 0;
    return ok_status();
  }

 private:
  const Tokenizer& tokenizer_;
  int threads_;
  bool keep_empty_;
  TokenStoreWriter& writer_;
  std::vector<std::string> pieces_;
  std::vector<size_t> unit_ends_;
  size_t bytes_ = 0;
};

Status write_store(TokenStoreWriter& writer,
                   const TextSource& source,
                   std::span<const int64_t> chosen,
                   const Tokenizer& tokenizer,
                   Cut cut,
                   const TextDatasetOptions& options) {
  Group group(tokenizer, options.threads, cut == Cut::kTexts, writer);
  const Callbacks callbacks{.progress = {}, .log = {}, .cancel = options.cancel};
  for (size_t i = 0; i < chosen.size(); ++i) {
    OCTET_TRY(callbacks.check_cancelled());
    TextExample example = OCTET_TRY(source.example(chosen[i]));
    std::vector<std::string> pieces;
    if (cut == Cut::kTexts) {
      pieces.push_back(std::move(example.text));
      if (source.pairs()) pieces.push_back(std::move(example.text2));
    } else {
      if (source.pairs()) example.text += "\n" + example.text2;
      for (const std::string_view sentence : split_sentences(example.text))
        pieces.emplace_back(sentence);
    }
    OCTET_TRY(group.add_unit(std::move(pieces)));
    constexpr size_t kReportEvery = 256;
    const bool last = i + 1 == chosen.size();
    if (options.on_progress && (last || i % kReportEvery == 0))
      options.on_progress(static_cast<int64_t>(i + 1), static_cast<int64_t>(chosen.size()));
  }
  OCTET_TRY(group.flush());
  return writer.finish();
}

/// Holds an advisory lock on a file beside the cache until the end of the scope. Where the file
/// system has no locks two processes may do the same work; the result is the same.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) return;
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

using Store = std::shared_ptr<const TokenStore>;

Result<Store> open_store(const std::string& path, const TokenKey& key, const Tokenizer& tokenizer) {
  std::shared_ptr<const Buffer> buffer = OCTET_TRY(Buffer::map(path));
  TokenStore store = OCTET_TRY(TokenStore::parse(std::move(buffer), path, key, tokenizer.size()));
  return std::make_shared<const TokenStore>(std::move(store));
}

} // namespace

std::vector<int64_t> chosen_examples(int64_t size, int64_t limit, uint64_t seed) {
  std::vector<int64_t> out(static_cast<size_t>(size));
  std::iota(out.begin(), out.end(), 0);
  if (limit <= 0 || limit >= size) return out;
  constexpr uint64_t kStream = 0x6c69'6d69'7400; // apart from the epochs' permutations
  out = permutation(size, seed, kStream);
  out.resize(static_cast<size_t>(limit));
  std::sort(out.begin(), out.end());
  return out;
}

Result<Store> tokenize(const TextSource& source,
                       std::span<const int64_t> chosen,
                       const Tokenizer& tokenizer,
                       Cut cut,
                       const TextDatasetOptions& options) {
  if (options.cache_folder == "none") {
    auto bytes = std::make_shared<std::string>();
    TokenStoreWriter writer(
        [&](std::string_view part) {
          *bytes += part;
          return ok_status();
        },
        {}, tokenizer.size());
    OCTET_TRY(write_store(writer, source, chosen, tokenizer, cut, options));
    const std::shared_ptr<Buffer> buffer = Buffer::allocate(bytes->size());
    if (buffer == nullptr) return error("no memory for {} bytes of tokens", bytes->size());
    std::memcpy(buffer->writable(), bytes->data(), bytes->size());
    return std::make_shared<const TokenStore>(
        OCTET_TRY(TokenStore::parse(buffer, "in memory", {}, tokenizer.size())));
  }
  const TokenKey key = OCTET_TRY(make_key(source, chosen, tokenizer, cut));
  const std::string folder =
      options.cache_folder.empty() ? OCTET_TRY(default_folder()) : options.cache_folder;
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) {
    return error("cannot make the folder {} for the token cache: {}; name another one, or none",
                 folder, code.message());
  }
  const std::string path = (fs::path(folder) / (to_string(key) + ".tokens")).string();
  const Lock lock((fs::path(folder) / ("." + to_string(key) + ".lock")).string());
  if (fs::exists(path, code)) return open_store(path, key, tokenizer);
  AtomicFile file = OCTET_TRY_WITH(AtomicFile::create(path, Overwrite::kYes), "token cache");
  TokenStoreWriter writer([&](std::string_view part) { return file.write(part); }, key,
                          tokenizer.size());
  OCTET_TRY(write_store(writer, source, chosen, tokenizer, cut, options));
  OCTET_TRY_WITH(file.commit(), "token cache");
  return open_store(path, key, tokenizer);
}

} // namespace octet
