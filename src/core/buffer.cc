// SPDX-License-Identifier: Apache-2.0
// The three kinds of Buffer: owned, mapped, borrowed.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "core/format.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "octet/tensor.h"

namespace octet {
namespace {

constexpr size_t kAlignment = 64;

class OwnedBuffer final : public Buffer {
 public:
  /// `base` comes from calloc and has kAlignment - 1 bytes to spare.
  OwnedBuffer(void* base, size_t size_bytes) : base_(base) {
    void* aligned = base;
    size_t space = size_bytes + kAlignment;
    std::align(kAlignment, size_bytes, aligned, space);
    writable_ = static_cast<std::byte*>(aligned);
    data_ = writable_;
    size_ = size_bytes;
  }
  ~OwnedBuffer() override { std::free(base_); }
  OwnedBuffer(const OwnedBuffer&) = delete;
  OwnedBuffer& operator=(const OwnedBuffer&) = delete;

 private:
  void* base_;
};

class MappedBuffer final : public Buffer {
 public:
  MappedBuffer(const std::byte* data, size_t size_bytes) {
    data_ = data;
    size_ = size_bytes;
  }
  ~MappedBuffer() override {
    if (size_ > 0) munmap(const_cast<std::byte*>(data_), size_);
  }
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;

  /// Nobody writes to the mapping, so that nothing is lost with a page.
  void page_out(std::span<const std::byte> part) const override {
    static const auto kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const auto at = static_cast<size_t>(part.data() - data_); // the mapping begins with a page
    const size_t begin = (at + kPage - 1) / kPage * kPage;
    const size_t end = (at + part.size()) / kPage * kPage;
    if (begin < end) madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
  }
};

class BorrowedBuffer final : public Buffer {
 public:
  explicit BorrowedBuffer(std::span<const std::byte> bytes) {
    data_ = bytes.data();
    size_ = bytes.size();
  }
};

/// Closes the descriptor at the end of the scope; a mapping outlives it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

} // namespace

std::shared_ptr<Buffer> Buffer::allocate(size_t size_bytes) {
  if (size_bytes > std::numeric_limits<size_t>::max() - kAlignment) return nullptr;
  // calloc leaves large blocks untouched until they are used.
  void* base = std::calloc(size_bytes + kAlignment, 1);
  if (base == nullptr) return nullptr;
  return std::make_shared<OwnedBuffer>(base, size_bytes);
}

Result<std::shared_ptr<Buffer>> Buffer::map(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid;
    return error(code, "cannot open {}: {}", path, std::strerror(errno));
  }
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return error("cannot read {}: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return error("{} is not a file; name a regular file", path);
  const auto size_bytes = static_cast<size_t>(info.st_size);
  if (size_bytes == 0) return std::shared_ptr<Buffer>(std::make_shared<MappedBuffer>(nullptr, 0));
  void* data = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED)
    return error("cannot map the {} bytes of {}: {}", size_bytes, path, std::strerror(errno));
  return std::shared_ptr<Buffer>(
      std::make_shared<MappedBuffer>(static_cast<const std::byte*>(data), size_bytes));
}

std::shared_ptr<Buffer> Buffer::borrow(std::span<const std::byte> bytes) {
  return std::make_shared<BorrowedBuffer>(bytes);
}

} // namespace octet
