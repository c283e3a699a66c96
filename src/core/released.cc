// SPDX-License-Identifier: Apache-2.0
#include "core/released.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>

#include <sys/mman.h>

namespace octet {
namespace {

/// Zeros that nobody can write: pages without memory behind them.
class Nothing final : public Buffer {
 public:
  explicit Nothing(std::span<const std::byte> zeros) {
    data_ = zeros.data();
    size_ = zeros.size();
  }
};

const std::byte* map_zeros(size_t size_bytes) {
  void* made =
      mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<const std::byte*>(made);
}

/// Those that released_space gave.
std::shared_mutex spaces_mutex;
std::map<const std::byte*, size_t, std::less<>> spaces; // by first byte
std::atomic<size_t> space_count = 0;

class Space final : public Buffer {
 public:
  explicit Space(std::span<const std::byte> zeros) {
    data_ = zeros.data();
    size_ = zeros.size();
    const std::unique_lock lock(spaces_mutex);
    spaces.emplace(data_, size_);
    space_count = spaces.size();
  }
  ~Space() override {
    const std::unique_lock lock(spaces_mutex);
    spaces.erase(data_);
    space_count = spaces.size();
    munmap(const_cast<std::byte*>(data_), size_);
  }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
};

bool in_a_space(const std::byte* at) {
  if (space_count == 0) return false;
  const std::shared_lock lock(spaces_mutex);
  auto after = spaces.upper_bound(at);
  if (after == spaces.begin()) return false;
  --after;
  return std::less<>()(at, after->first + after->second);
}

constexpr size_t kSmallest = size_t{1} << 16;
constexpr size_t kSizes = 48;

/// By powers of two, mapped when first asked for and never unmapped.
std::array<std::atomic<const std::byte*>, kSizes> mappings{};

/// Null where the system gives no address space.
const std::byte* mapping(size_t index) {
  const std::byte* found = mappings[index].load(std::memory_order_acquire);
  if (found != nullptr) return found;
  const size_t size_bytes = kSmallest << index;
  const std::byte* mine = map_zeros(size_bytes);
  if (mine == nullptr || mappings[index].compare_exchange_strong(found, mine)) return mine;
  munmap(const_cast<std::byte*>(mine), size_bytes); // another thread was first
  return found;
}

} // namespace

Tensor released(const Tensor& tensor) {
  if (tensor.type() == DType::kString || tensor.empty()) return tensor;
  const size_t size_bytes = std::bit_ceil(std::max(tensor.bytes().size(), kSmallest));
  const auto index = static_cast<size_t>(std::countr_zero(size_bytes / kSmallest));
  const std::byte* zeros = index < kSizes ? mapping(index) : nullptr;
  if (zeros == nullptr) return tensor;
  return Tensor::view(tensor.type(), tensor.shape(),
                      std::make_shared<Nothing>(std::span(zeros, size_bytes)), 0)
      .value();
}

bool is_released(const Tensor& tensor) {
  const std::byte* at = tensor.bytes().data();
  if (at == nullptr) return false;
  return in_a_space(at) || std::any_of(mappings.begin(), mappings.end(), [&](const auto& zeros) {
           return zeros.load(std::memory_order_acquire) == at;
         });
}

std::shared_ptr<Buffer> released_space(size_t size_bytes) {
  const std::byte* zeros = map_zeros(std::max<size_t>(size_bytes, 1));
  if (zeros == nullptr) return nullptr;
  return std::make_shared<Space>(std::span(zeros, std::max<size_t>(size_bytes, 1)));
}

} // namespace octet
