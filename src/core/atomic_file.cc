// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/check.h"
#include "core/format.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = 1 << 16;

std::string reason() {
  return std::strerror(errno);
}

/// The file that a path ends at when symbolic links are followed.
std::string resolved(const std::string& path) {
  std::error_code code;
  const fs::path target = fs::canonical(path, code);
  return code ? path : target.string();
}

std::string temporary_name(const std::string& path, int attempt) {
  static std::atomic<unsigned> counter = 0;
  const fs::path target(path);
  const std::string file = fmt::format(".{}.octet-{}-{}-{}", target.filename().string(), getpid(),
                                       counter.fetch_add(1), attempt);
  return (target.parent_path() / file).string();
}

/// Makes a rename or a new name in the folder last through a power cut.
void sync_folder(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(fsync(fd)); // some file systems cannot, and need not
  close(fd);
}

/// The name of a temporary file where remove_temporary_files() finds it. A signal handler can take
/// no lock and follow no pointer that another thread frees, so there are places for some.
struct Noted {
  enum class State { kFree, kTaken, kNamed };
  std::atomic<State> state = State::kFree;
  std::array<char, PATH_MAX> name = {};
};
static_assert(std::atomic<Noted::State>::is_always_lock_free);
constinit std::array<Noted, 32> noted_files;

/// Null where the places are taken.
Noted* note(const std::string& name) {
  if (name.size() >= PATH_MAX) return nullptr;
  for (Noted& place : noted_files) {
    Noted::State expected = Noted::State::kFree;
    if (!place.state.compare_exchange_strong(expected, Noted::State::kTaken)) continue;
    *std::copy(name.begin(), name.end(), place.name.begin()) = '\0';
    place.state = Noted::State::kNamed;
    return &place;
  }
  return nullptr;
}

void forget(Noted* place) {
  if (place == nullptr) return;
  Noted::State expected = Noted::State::kNamed; // or taken by a signal handler, which reads it
  place->state.compare_exchange_strong(expected, Noted::State::kFree);
}

Error exists(const std::string& path) {
  return error(ErrorCode::kInvalid, "{} exists and is kept; name another file or allow overwriting",
               path);
}

bool rename_into_place(const std::string& from, const std::string& to, Overwrite overwrite) {
  if (overwrite == Overwrite::kYes) return rename(from.c_str(), to.c_str()) == 0;
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system cannot refuse by itself; a hard link can.
  if (link(from.c_str(), to.c_str()) != 0) return false;
  unlink(from.c_str());
  return true;
}

} // namespace

struct AtomicFile::State {
  std::string path;
  std::string temporary; // empty: written directly
  Noted* noted = nullptr;
  Overwrite overwrite = Overwrite::kNo;
  int fd = -1;
  std::string pending;
  bool committed = false;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (fd >= 0) close(fd);
    if (!committed && !temporary.empty()) unlink(temporary.c_str());
    forget(noted);
  }

  Status flush() {
    size_t done = 0;
    while (done < pending.size()) {
      const ssize_t n = ::write(fd, pending.data() + done, pending.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return error("cannot write {}: {}", path, reason());
      done += static_cast<size_t>(n);
    }
    pending.clear();
    return ok_status();
  }
};

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

Result<AtomicFile> AtomicFile::create(const std::string& path, Overwrite overwrite) {
  if (path.empty()) return error("a file name is empty; name the file to write");
  auto state = std::make_unique<State>();
  state->path = resolved(path);
  state->overwrite = overwrite;
  struct stat info = {};
  const bool found = stat(state->path.c_str(), &info) == 0;
  if (found && S_ISDIR(info.st_mode))
    return error("{} is a folder; name a file to write in it", path);
  if (found && !S_ISREG(info.st_mode)) {
    state->fd = open(state->path.c_str(), O_WRONLY | O_CLOEXEC);
    if (state->fd < 0) return error("cannot write {}: {}", path, reason());
    return AtomicFile(std::move(state));
  }
  if (found && overwrite == Overwrite::kNo) return exists(path);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = temporary_name(state->path, attempt);
    state->noted = note(name);
    state->fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (state->fd >= 0) {
      state->temporary = name;
      break;
    }
    const int why = errno;
    forget(std::exchange(state->noted, nullptr));
    errno = why;
    if (errno != EEXIST) break;
  }
  if (state->fd < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid;
    return error(code, "cannot write {}: {}; its folder must exist and be writable", path,
                 reason());
  }
  if (found) static_cast<void>(fchmod(state->fd, info.st_mode & 07777));
  return AtomicFile(std::move(state));
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  return write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status AtomicFile::write(std::string_view text) {
  OCTET_CHECK(state_ != nullptr && !state_->committed);
  while (!text.empty()) {
    const size_t room = kBufferBytes - state_->pending.size();
    state_->pending += text.substr(0, room);
    text.remove_prefix(std::min(room, text.size()));
    if (state_->pending.size() == kBufferBytes) OCTET_TRY(state_->flush());
  }
  return ok_status();
}

const std::string& AtomicFile::temporary_path() const {
  return state_->temporary.empty() ? state_->path : state_->temporary;
}

Status AtomicFile::commit() {
  OCTET_CHECK(state_ != nullptr && !state_->committed);
  OCTET_TRY(state_->flush());
  if (state_->temporary.empty()) {
    state_->committed = true;
    return ok_status();
  }
  // By name: the temporary file may have been replaced by code that wrote it by name.
  const int synced = open(state_->temporary.c_str(), O_RDONLY | O_CLOEXEC);
  const bool durable = synced >= 0 && fsync(synced) == 0;
  if (synced >= 0) close(synced);
  if (!durable) return error("cannot write {}: {}", state_->path, reason());
  if (!rename_into_place(state_->temporary, state_->path, state_->overwrite)) {
    if (errno == EEXIST) return exists(state_->path);
    return error("cannot write {}: {}", state_->path, reason());
  }
  state_->committed = true;
  forget(std::exchange(state_->noted, nullptr));
  sync_folder(state_->path);
  return ok_status();
}

Status write_file(const std::string& path, std::string_view content, Overwrite overwrite) {
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, overwrite));
  OCTET_TRY(file.write(content));
  return file.commit();
}

void remove_temporary_files() noexcept {
  for (Noted& place : noted_files) {
    Noted::State expected = Noted::State::kNamed;
    if (place.state.compare_exchange_strong(expected, Noted::State::kTaken))
      unlink(place.name.data());
  }
}

Result<std::string> read_file(const std::string& path, size_t limit_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid;
    return error(code, "cannot open {}: {}", path, reason());
  }
  std::string content;
  std::string block(kBufferBytes, '\0');
  std::string failure;
  while (failure.empty()) {
    const ssize_t n = read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) break;
    if (n < 0) {
      failure = fmt::format("cannot read {}: {}", path, reason());
    } else if (content.size() + static_cast<size_t>(n) > limit_bytes) {
      failure = fmt::format("{} is above the limit of {} bytes; is it the right file?", path,
                            limit_bytes);
    } else {
      content.append(block, 0, static_cast<size_t>(n));
    }
  }
  close(fd);
  if (!failure.empty()) return Error(failure);
  return content;
}

} // namespace octet
