// SPDX-License-Identifier: Apache-2.0
#include "data/fetch.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/format.h"
#include "core/string_util.h"
#include "data/http.h"
#include "data/sha256.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// The file `.NAME.part`, open for appending and locked against a second download.
class PartialFile {
 public:
  static Result<PartialFile> open(const std::string& path) {
    PartialFile out;
    out.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (out.fd_ < 0) return error("cannot write {}: {}", path, std::strerror(errno));
    if (flock(out.fd_, LOCK_EX | LOCK_NB) != 0) {
      return error("another download is writing {}; wait for it, or end it", path);
    }
    out.size_ = lseek(out.fd_, 0, SEEK_END);
    out.path_ = path;
    return out;
  }
  PartialFile(PartialFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), size_(other.size_), path_(std::move(other.path_)) {}
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile() {
    if (fd_ >= 0) close(fd_);
  }

  int64_t size() const { return size_; }
  Status clear() {
    if (ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) return failed();
    size_ = 0;
    return ok_status();
  }
  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return failed();
      size_ += n;
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return ok_status();
  }
  /// Makes it appear under its real name.
  Status publish(const std::string& path) {
    if (fsync(fd_) != 0 || rename(path_.c_str(), path.c_str()) != 0) return failed();
    return ok_status();
  }

 private:
  PartialFile() = default;
  Error failed() const { return error("cannot write {}: {}", path_, std::strerror(errno)); }

  int fd_ = -1;
  int64_t size_ = 0;
  std::string path_;
};

class Download {
 public:
  Download(const RemoteDataset& dataset,
           const RemoteFile& file,
           const std::string& folder,
           const Callbacks& callbacks)
      : dataset_(dataset), file_(file), target_(fs::path(folder) / file.name),
        partial_(fs::path(folder) / ("." + file.name + ".part")), callbacks_(callbacks) {}

  Status run() {
    if (OCTET_TRY(is_right(target_))) return report(file_.size_bytes);
    PartialFile part = OCTET_TRY(PartialFile::open(partial_));
    std::string reasons;
    for (const std::string& mirror : dataset_.mirrors) {
      Status status = from_mirror(mirror, part);
      if (status.ok()) return part.publish(target_);
      if (status.error().code() == ErrorCode::kCancelled) return status;
      const bool another = &mirror != &dataset_.mirrors.back(); // else the error says it
      if (another) callbacks_.say(LogLevel::kWarning, status.error().text());
      reasons += (reasons.empty() ? "" : "; ") + status.error().text();
    }
    return error("{}{}; check the network{}", found_here(), reasons, dataset_.otherwise);
  }

 private:
  /// What is wrong with a file that somebody put there.
  std::string found_here() const {
    std::error_code code;
    const auto size_bytes = fs::file_size(target_, code);
    if (code) return {};
    if (static_cast<int64_t>(size_bytes) != file_.size_bytes)
      return fmt::format("{} has {} bytes, expected are {}: it is another file; ", target_.string(),
                         size_bytes, file_.size_bytes);
    return fmt::format("{} has another checksum than is expected; ", target_.string());
  }

  Result<bool> is_right(const fs::path& path) const {
    std::error_code code;
    const auto size_bytes = fs::file_size(path, code);
    if (code || static_cast<int64_t>(size_bytes) != file_.size_bytes) return false;
    return OCTET_TRY(checksum(path.string())) == wanted_checksum();
  }

  const std::string& wanted_checksum() const {
    return file_.sha256.empty() ? file_.git_id : file_.sha256;
  }
  Result<std::string> checksum(const std::string& path) const {
    if (!file_.sha256.empty()) return sha256_of_file(path);
    return file_.git_id.empty() ? Result<std::string>(std::string()) : git_id_of_file(path);
  }

  /// An address may name the folder or the file itself.
  std::string url_of(const std::string& mirror) const {
    if (mirror.ends_with("/" + file_.name)) return mirror;
    return mirror + (mirror.ends_with('/') ? "" : "/") + file_.name;
  }

  Status report(int64_t done) const {
    callbacks_.report({"download " + file_.name, done, file_.size_bytes, "bytes", ""});
    return ok_status();
  }

  /// Fills `part` from one mirror and checks it; what turns out wrong is emptied.
  Status from_mirror(const std::string& mirror, PartialFile& part) const {
    if (part.size() > file_.size_bytes) OCTET_TRY(part.clear());
    const std::string url = url_of(mirror);
    if (part.size() < file_.size_bytes) OCTET_TRY(transfer(url, part));
    if (part.size() != file_.size_bytes) {
      const int64_t got = part.size(); // all of it: there is nothing to continue
      OCTET_TRY(part.clear());
      return error("{} has {} bytes, expected are {}: it is another file", url, got,
                   file_.size_bytes);
    }
    const std::string found = OCTET_TRY(checksum(partial_.string()));
    if (found == wanted_checksum()) return ok_status();
    OCTET_TRY(part.clear());
    return error("{} has the {} {}, expected is {}; its content is wrong", url,
                 file_.sha256.empty() ? "git id" : "SHA-256", found, wanted_checksum());
  }

  Status transfer(const std::string& url, PartialFile& part) const {
    HttpRequest request;
    request.url = url;
    request.resume_from = part.size();
    request.headers = dataset_.headers;
    request.cancelled = [this] { return callbacks_.cancelled(); };
    request.on_data = [&](std::span<const std::byte> bytes) -> Status {
      if (part.size() + static_cast<int64_t>(bytes.size()) > file_.size_bytes) {
        OCTET_TRY(part.clear());
        return error("{} is larger than the {} bytes expected", url, file_.size_bytes);
      }
      OCTET_TRY(part.append(bytes));
      return report(part.size());
    };
    if (OCTET_TRY(http_get(request)) == HttpOutcome::kDone) return ok_status();
    OCTET_TRY(part.clear());
    request.resume_from = 0;
    OCTET_TRY(http_get(request));
    return ok_status();
  }

  const RemoteDataset& dataset_;
  const RemoteFile& file_;
  const fs::path target_;
  const fs::path partial_;
  const Callbacks& callbacks_;
};

/// Whether `url` is no address of a server: another scheme, or a place on this machine.
bool is_no_address(const std::string& url) {
  if (url.starts_with("http://") || url.starts_with("https://")) return false;
  std::error_code ignored;
  return url.starts_with("file:") || url.find("://") != std::string::npos ||
         fs::exists(url, ignored);
}

} // namespace

std::span<const RemoteDataset> remote_datasets() {
  static const std::vector<RemoteDataset> datasets = {
      {"fashion-mnist",
       {{"train-images-idx3-ubyte.gz", 26421880,
         "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
        {"train-labels-idx1-ubyte.gz", 29515,
         "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
        {"t10k-images-idx3-ubyte.gz", 4422102,
         "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
        {"t10k-labels-idx1-ubyte.gz", 5148,
         "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"}},
       {"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"}},
      {"mnist",
       {{"train-images-idx3-ubyte.gz", 9912422,
         "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
        {"train-labels-idx1-ubyte.gz", 28881,
         "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
        {"t10k-images-idx3-ubyte.gz", 1648877,
         "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
        {"t10k-labels-idx1-ubyte.gz", 4542,
         "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}},
       {"https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/"}},
      {"imdb",
       {{"aclImdb_v1.tar.gz", 84125825,
         "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"}},
       {"https://ai.stanford.edu/~amaas/data/sentiment/"},
       RemoteArchive{"aclImdb", {.files = 120'000, .bytes = int64_t{1} << 30}}},
      {"sst2",
       {{"SST-2.zip", 7439277, "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa"}},
       {"https://dl.fbaipublicfiles.com/glue/data/"},
       RemoteArchive{"SST-2", {.files = 100, .bytes = int64_t{1} << 28}}}};
  return datasets;
}

Result<std::string> cache_folder(std::string_view kind, std::string_view name) {
  const auto folder = [&](const fs::path& base) { return (base / "octet" / kind / name).string(); };
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute()) return folder(cache);
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return folder(fs::path(home) / ".cache");
  return Error("neither HOME nor XDG_CACHE_HOME is set; name the folder to download to");
}

Result<std::string> dataset_cache_folder(std::string_view name) {
  return cache_folder("data", name);
}

std::string dataset_spec(const RemoteDataset& dataset, const std::string& folder) {
  const fs::path place =
      dataset.archive ? fs::path(folder) / dataset.archive->top : fs::path(folder);
  return dataset.name + ":" + place.string();
}

Status
fetch_dataset(const RemoteDataset& dataset, const std::string& folder, const Callbacks& callbacks) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return error("cannot make the folder {}: {}", folder, code.message());
  if (dataset.archive && fs::is_directory(fs::path(folder) / dataset.archive->top, code))
    return ok_status(); // it appeared when it was whole
  for (const RemoteFile& file : dataset.files) {
    OCTET_TRY(callbacks.check_cancelled());
    OCTET_TRY(Download(dataset, file, folder, callbacks).run());
  }
  if (!dataset.archive) return ok_status();
  const std::string archive = (fs::path(folder) / dataset.files.front().name).string();
  OCTET_TRY(
      unpack_folder(archive, folder, dataset.archive->top, dataset.archive->limits, callbacks));
  fs::remove(archive, code);
  return ok_status();
}

Result<std::string> fetch_dataset(std::string_view name,
                                  const std::string& folder,
                                  const std::string& base_url,
                                  const Callbacks& callbacks) {
  std::vector<std::string> names;
  for (const RemoteDataset& dataset : remote_datasets()) {
    names.push_back(dataset.name);
    if (dataset.name != name) continue;
    RemoteDataset chosen = dataset;
    const std::string file = chosen.archive ? chosen.files.front().name : "its files";
    if (is_no_address(base_url))
      return error("--url {} does not begin with http:// or https://; to use what is on this "
                   "machine, put {} into {} and run this without --url",
                   base_url, file, folder);
    if (!base_url.empty()) chosen.mirrors = {base_url};
    chosen.otherwise = fmt::format(
        ", name another address with --url, or put {} into {} by hand and run this again", file,
        folder);
    if (chosen.archive)
      chosen.otherwise += fmt::format("; a folder that is unpacked is --data {}:FOLDER", name);
    OCTET_TRY(fetch_dataset(chosen, folder, callbacks));
    return dataset_spec(chosen, folder);
  }
  return error(ErrorCode::kNotFound, "no data set \"{}\" to fetch{}", name,
               suggestion(name, names));
}

} // namespace octet
