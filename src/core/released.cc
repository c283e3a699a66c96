// SPDX-License-Identifier: Apache-2.0
#include "core/released.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

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

constexpr size_t kSmallest = size_t{1} << 16;
constexpr size_t kSizes = 48;

/// By powers of two, mapped when first asked for and never unmapped.
std::array<std::atomic<const std::byte*>, kSizes> mappings{};

/// Null where the system gives no address space.
const std::byte* mapping(size_t index) {
  const std::byte* found = mappings[index].load(std::memory_order_acquire);
  if (found != nullptr) return found;
  const size_t size_bytes = kSmallest << index;
  void* made =
      mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  const auto* mine = static_cast<const std::byte*>(made);
  if (mappings[index].compare_exchange_strong(found, mine)) return mine;
  munmap(made, size_bytes); // another thread was first
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
  return at != nullptr && std::any_of(mappings.begin(), mappings.end(), [&](const auto& zeros) {
           return zeros.load(std::memory_order_acquire) == at;
         });
}

} // namespace octet
