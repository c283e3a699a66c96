// SPDX-License-Identifier: Apache-2.0
#include "core/huge_pages.h"

#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace octet {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSharedBytes = size_t{32} << 20;     // of a mapping that buffers share
constexpr size_t kSmallPagesFirst = size_t{1} << 20;  // of it, so that small models stay small
constexpr size_t kLeastAmongOthers = size_t{4} << 10; // smaller ones leave nothing to give back
constexpr size_t kPartAlignment = 64;

// The address sanitizer sees what lies beyond a block of malloc's, not beyond a part of a mapping.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMaps = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kMaps = false;
#else
constexpr bool kMaps = true;
#endif
#else
constexpr bool kMaps = true;
#endif

constexpr size_t round_up(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Zeroed memory, which begins with a huge page.
class Mapping {
 public:
  explicit Mapping(size_t bytes) : mapped_(bytes + kHugePage) {
    void* const at =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(at);
    const auto address = reinterpret_cast<uintptr_t>(at);
    data_ = base_ + (round_up(address, kHugePage) - address);
  }
  ~Mapping() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* data() const { return data_; } ///< null: no memory

  /// A system without such pages says no, and keeps the small ones.
  void advise(size_t begin, size_t end) const {
#ifdef MADV_HUGEPAGE
    if (data_ != nullptr && begin < end) madvise(data_ + begin, end - begin, MADV_HUGEPAGE);
#endif
  }

 private:
  size_t mapped_;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
};

class WholeMapping final : public Buffer {
 public:
  explicit WholeMapping(size_t bytes) : mapping_(bytes) {
    data_ = writable_ = mapping_.data();
    size_ = bytes;
    mapping_.advise(0, (bytes + kHugePage / 2) / kHugePage * kHugePage);
  }

 private:
  Mapping mapping_;
};

class PartOfMapping final : public Buffer {
 public:
  PartOfMapping(std::shared_ptr<Mapping> mapping, size_t begin, size_t bytes)
      : mapping_(std::move(mapping)), begin_(begin) {
    data_ = writable_ = mapping_->data() + begin;
    size_ = bytes;
  }
  ~PartOfMapping() override {
    const size_t begin = round_up(begin_, page_bytes());
    const size_t end = (begin_ + size_) / page_bytes() * page_bytes();
    if (begin < end) madvise(mapping_->data() + begin, end - begin, MADV_DONTNEED);
  }
  PartOfMapping(const PartOfMapping&) = delete;
  PartOfMapping& operator=(const PartOfMapping&) = delete;

 private:
  std::shared_ptr<Mapping> mapping_;
  size_t begin_;
};

/// The mapping that buffers come from, one behind the other.
class Shared {
 public:
  std::shared_ptr<Buffer> take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Mapping> mapping = mapping_.lock();
    if (!mapping || kSharedBytes - used_ < bytes) {
      mapping = std::make_shared<Mapping>(kSharedBytes);
      if (mapping->data() == nullptr) return nullptr;
      mapping->advise(kSmallPagesFirst, kSharedBytes);
      mapping_ = mapping;
      used_ = 0;
    }
    const size_t begin = used_;
    used_ += round_up(bytes, kPartAlignment);
    return std::make_shared<PartOfMapping>(std::move(mapping), begin, bytes);
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<Mapping> mapping_; ///< goes with its last buffer
  size_t used_ = 0;
};

} // namespace

std::shared_ptr<Buffer> allocate_in_huge_pages(size_t bytes) {
  if (!kMaps || bytes < kHugePage / 2) return Buffer::allocate(bytes);
  if (bytes > std::numeric_limits<size_t>::max() - 2 * kHugePage) return nullptr;
  auto made = std::make_shared<WholeMapping>(bytes);
  return made->writable() != nullptr ? made : nullptr;
}

std::shared_ptr<Buffer> allocate_among_others(size_t bytes) {
  if (bytes < kLeastAmongOthers) return Buffer::allocate(bytes);
  if (!kMaps || bytes > kSharedBytes / 2) return allocate_in_huge_pages(bytes);
  static Shared shared;
  return shared.take(bytes);
}

} // namespace octet
