// SPDX-License-Identifier: Apache-2.0
#include "quant/search/journal.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

namespace octet {

namespace {

constexpr size_t kMostJournalBytes = size_t{1} << 28;

Result<JournalEntry> parse_entry(std::string_view line) {
  const nlohmann::json json = OCTET_TRY(parse_json(line));
  const auto has = [&](const char* key, auto is) {
    return json.contains(key) && (json[key].*is)();
  };
  if (!json.is_object() || !has("kind", &nlohmann::json::is_string) ||
      !has("recipe", &nlohmann::json::is_string) || !has("float", &nlohmann::json::is_array) ||
      !has("numbers", &nlohmann::json::is_object))
    return error("it is no measurement: kind, recipe, float and numbers make one");
  JournalEntry out;
  out.kind = json["kind"].get<std::string>();
  out.candidate.recipe = json["recipe"].get<std::string>();
  for (const nlohmann::json& name : json["float"]) {
    if (!name.is_string()) return error("\"float\" holds something else than names of layers");
    out.candidate.in_float.insert(name.get<std::string>());
  }
  if (json.contains("choices")) {
    if (!json["choices"].is_object()) return error("\"choices\" is no object");
    for (const auto& [layer, choice] : json["choices"].items()) {
      if (!choice.is_string()) return error("the choice of \"{}\" is no text", layer);
      out.candidate.choices[layer] = choice.get<std::string>();
    }
  }
  for (const auto& [key, value] : json["numbers"].items()) {
    if (!value.is_number() && !value.is_null()) return error("\"{}\" is no number", key);
    out.numbers[key] =
        value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
  }
  if (json.contains("why")) {
    if (!json["why"].is_string()) return error("\"why\" is no text");
    out.why = json["why"].get<std::string>();
  }
  return out;
}

} // namespace

std::string journal_line(const JournalEntry& entry) {
  auto numbers = nlohmann::ordered_json::object();
  for (const auto& [key, value] : entry.numbers)
    numbers[key] = std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
  nlohmann::ordered_json out = {{"kind", entry.kind},
                                {"recipe", entry.candidate.recipe},
                                {"float", entry.candidate.in_float}};
  if (!entry.candidate.choices.empty()) out["choices"] = entry.candidate.choices;
  out["numbers"] = std::move(numbers);
  if (!entry.why.empty()) out["why"] = entry.why;
  return json_text(out, -1);
}

Result<JournalText> parse_journal(std::string_view text) {
  JournalText out;
  int64_t number = 0;
  for (size_t begin = 0;;) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return out;
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (++number == 1)
      out.identity = std::string(line);
    else
      out.entries.push_back(OCTET_TRY_WITH(parse_entry(line), fmt::format("line {}", number)));
    out.whole_bytes = begin;
  }
}

Result<Journal> Journal::open(const std::string& path, const std::string& identity) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return error("{}: cannot be written: {}", path, std::strerror(errno));
  Journal out(path, file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0)
    return error("{}: another search writes it; wait for it, or name another output", path);
  const std::string text = OCTET_TRY(read_file(path, kMostJournalBytes));
  JournalText known = OCTET_TRY_WITH(parse_journal(text), path);
  if (ftruncate(file, static_cast<off_t>(known.whole_bytes)) != 0)
    return error("{}: cannot be cut: {}", path, std::strerror(errno));
  if (known.whole_bytes == 0) {
    OCTET_TRY(out.write(identity));
    return out;
  }
  if (known.identity != identity)
    return error("{}: is of another search (another model, other data, options, or another "
                 "instruction set); use --restart to begin anew, or name another output",
                 path);
  out.resumed_ = std::ssize(known.entries);
  for (JournalEntry& entry : known.entries)
    out.entries_.insert_or_assign({entry.kind, entry.candidate}, std::move(entry));
  return out;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)),
      resumed_(other.resumed_), entries_(std::move(other.entries_)) {}

Journal::~Journal() {
  if (file_ >= 0) close(file_);
}

const JournalEntry* Journal::find(std::string_view kind, const PlanCandidate& candidate) const {
  const auto found = entries_.find(std::pair(std::string(kind), candidate));
  return found == entries_.end() ? nullptr : &found->second;
}

Status Journal::append(JournalEntry entry) {
  OCTET_TRY(write(journal_line(entry)));
  entries_.insert_or_assign({entry.kind, entry.candidate}, std::move(entry));
  return ok_status();
}

Status Journal::write(std::string_view line) const {
  std::string bytes(line);
  bytes += '\n';
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return error("{}: cannot be written: {}", path_, std::strerror(errno));
    done += static_cast<size_t>(n);
  }
  if (fsync(file_) != 0) return error("{}: cannot be written: {}", path_, std::strerror(errno));
  return ok_status();
}

} // namespace octet
