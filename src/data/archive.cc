// SPDX-License-Identifier: Apache-2.0
#include "data/archive.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "core/format.h"
#include "core/shared_library.h"
#include "core/string_util.h"
#include <archive.h>
#include <archive_entry.h>

#include "octet/tensor.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// The functions of libarchive that are used.
struct ArchiveLibrary {
  decltype(&archive_read_new) make = nullptr;
  decltype(&archive_read_free) free = nullptr;
  decltype(&archive_read_support_filter_gzip) gzip = nullptr;
  decltype(&archive_read_support_format_tar) tar = nullptr;
  decltype(&archive_read_support_format_zip_seekable) zip = nullptr;
  decltype(&archive_read_open_memory) open = nullptr;
  decltype(&archive_read_next_header) next = nullptr;
  decltype(&archive_read_data) data = nullptr;
  decltype(&archive_error_string) why = nullptr;
  decltype(&archive_entry_pathname) path = nullptr;
  decltype(&archive_entry_filetype) type = nullptr;
  decltype(&archive_entry_hardlink) link = nullptr;
  decltype(&archive_entry_is_encrypted) encrypted = nullptr;
};

Result<ArchiveLibrary> load_archive() {
  const SharedLibrary library = OCTET_TRY(SharedLibrary::open(
      {"libarchive.so.13"}, "install libarchive (Debian: libarchive13) to unpack files"));
  ArchiveLibrary out;
  OCTET_TRY(library.load("archive_read_new", out.make));
  OCTET_TRY(library.load("archive_read_free", out.free));
  OCTET_TRY(library.load("archive_read_support_filter_gzip", out.gzip));
  OCTET_TRY(library.load("archive_read_support_format_tar", out.tar));
  OCTET_TRY(library.load("archive_read_support_format_zip_seekable", out.zip));
  OCTET_TRY(library.load("archive_read_open_memory", out.open));
  OCTET_TRY(library.load("archive_read_next_header", out.next));
  OCTET_TRY(library.load("archive_read_data", out.data));
  OCTET_TRY(library.load("archive_error_string", out.why));
  OCTET_TRY(library.load("archive_entry_pathname", out.path));
  OCTET_TRY(library.load("archive_entry_filetype", out.type));
  OCTET_TRY(library.load("archive_entry_hardlink", out.link));
  OCTET_TRY(library.load("archive_entry_is_encrypted", out.encrypted));
  return out;
}

/// A name that stays within the folder that it is unpacked to.
Status check_member(const std::string& name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string::npos ||
      name.find('\0') != std::string::npos)
    return error("holds the name \"{}\", which is no path of a file within it", name);
  for (const std::string_view part : split(name, '/'))
    if (part == "..") return error("holds the name \"{}\", which leads out of it", name);
  return ok_status();
}

class ArchiveReader {
 public:
  ArchiveReader(const ArchiveLibrary& library, const ArchiveLimits& limits, const ArchiveSink& sink)
      : lib_(library), limits_(limits), sink_(sink), handle_(library.make(), library.free) {}

  Status run(std::span<const std::byte> bytes) {
    if (handle_ == nullptr) return Error("libarchive cannot start");
    lib_.gzip(handle_.get());
    lib_.tar(handle_.get());
    lib_.zip(handle_.get());
    if (lib_.open(handle_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return damaged();
    archive_entry* entry = nullptr;
    for (;;) {
      const int code = lib_.next(handle_.get(), &entry);
      if (code == ARCHIVE_EOF) return ok_status();
      if (code != ARCHIVE_OK) return damaged();
      OCTET_TRY(member(entry));
    }
  }

 private:
  Error damaged() const {
    const char* why = lib_.why(handle_.get());
    return error("is damaged, or no .tar.gz or .zip: {}", why == nullptr ? "no reason" : why);
  }

  Status member(archive_entry* entry) {
    const char* path = lib_.path(entry);
    if (path == nullptr) return Error("holds a name that cannot be read");
    const std::string name = path;
    OCTET_TRY(check_member(name));
    const auto type = lib_.type(entry);
    if (lib_.link(entry) != nullptr || (type != AE_IFREG && type != AE_IFDIR))
      return error("holds \"{}\", which is a link or no file", name);
    if (lib_.encrypted(entry) != 0) return error("holds \"{}\", which is encrypted", name);
    if (type == AE_IFDIR) return ok_status();
    if (!names_.insert(fs::path(name).lexically_normal().string()).second)
      return error("holds \"{}\" twice", name);
    if (std::ssize(names_) > limits_.files)
      return error("holds more than the {} files that are expected", limits_.files);
    OCTET_TRY(sink_.begin_file(name));
    std::vector<std::byte> piece(size_t{1} << 16);
    for (;;) {
      const la_ssize_t n = lib_.data(handle_.get(), piece.data(), piece.size());
      if (n < 0) return damaged();
      if (n == 0) return ok_status();
      total_ += n;
      if (total_ > limits_.bytes)
        return error("unpacks to more than the {} bytes that are expected", limits_.bytes);
      OCTET_TRY(sink_.add(std::span(piece).first(static_cast<size_t>(n))));
    }
  }

  const ArchiveLibrary& lib_;
  const ArchiveLimits& limits_;
  const ArchiveSink& sink_;
  std::unique_ptr<archive, decltype(&archive_read_free)> handle_;
  std::set<std::string> names_;
  int64_t total_ = 0;
};

/// Files beneath a folder; the last one is open.
class UnpackedFiles {
 public:
  explicit UnpackedFiles(fs::path root) : root_(std::move(root)) {}

  Status begin(const std::string& name) {
    OCTET_TRY(end());
    path_ = root_ / name;
    std::error_code failed;
    fs::create_directories(path_.parent_path(), failed);
    if (!failed) file_.reset(std::fopen(path_.c_str(), "wbx"));
    return file_ == nullptr ? Status(cannot_write()) : ok_status();
  }
  Status add(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
      return cannot_write();
    return ok_status();
  }
  Status end() {
    if (file_ == nullptr) return ok_status();
    return std::fclose(file_.release()) == 0 ? ok_status() : Status(cannot_write());
  }

 private:
  Error cannot_write() const {
    return error("cannot write {}: {}", path_.string(), std::strerror(errno));
  }
  fs::path root_, path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
};

/// Gone when the unpacking did not end well.
struct RemovedPart {
  fs::path path;
  ~RemovedPart() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

} // namespace

Status read_archive(std::span<const std::byte> bytes,
                    const std::string& name,
                    const ArchiveLimits& limits,
                    const ArchiveSink& sink) {
  static const Result<ArchiveLibrary> library = load_archive();
  if (!library.ok()) return library.error();
  return ArchiveReader(*library, limits, sink).run(bytes).with(name);
}

Status unpack_folder(const std::string& archive,
                     const std::string& parent,
                     const std::string& top,
                     const ArchiveLimits& limits,
                     const Callbacks& callbacks) {
  const std::shared_ptr<Buffer> file = OCTET_TRY(Buffer::map(archive));
  const RemovedPart partial{fs::path(parent) / ("." + top + ".part")};
  std::error_code failed;
  fs::remove_all(partial.path, failed); // of an unpacking that was killed
  UnpackedFiles writer(partial.path);
  int64_t files = 0;
  bool wanted = false;
  ArchiveSink sink;
  sink.begin_file = [&](const std::string& name) -> Status {
    OCTET_TRY(callbacks.check_cancelled());
    callbacks.report({"unpack " + top, ++files, limits.files, "files", ""});
    wanted = name.starts_with(top + "/");
    return wanted ? writer.begin(name) : ok_status();
  };
  sink.add = [&](std::span<const std::byte> bytes) {
    return wanted ? writer.add(bytes) : ok_status();
  };
  OCTET_TRY(read_archive(file->bytes(), archive, limits, sink));
  OCTET_TRY(writer.end());
  if (!fs::is_directory(partial.path / top, failed))
    return error("{}: holds no folder {}", archive, top);
  fs::rename(partial.path / top, fs::path(parent) / top, failed);
  if (failed)
    return error("cannot make {}: {}", (fs::path(parent) / top).string(), failed.message());
  return ok_status();
}

} // namespace octet
