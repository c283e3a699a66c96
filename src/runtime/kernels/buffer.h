// SPDX-License-Identifier: Apache-2.0
// Bytes aligned to 64 for packed weights, and scratch memory of the chunks of loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "octet/tensor.h"

namespace octet::kernels {

/// Bytes aligned to a cache line, with a readable line after the last one: zero-filled memory of
/// its own, or a part of what somebody else holds.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes);
  /// `bytes` lie in `owner`, aligned, with a line after them; nobody writes to them.
  AlignedBuffer(std::shared_ptr<const Buffer> owner, std::span<const std::byte> bytes);
  AlignedBuffer(AlignedBuffer&&) noexcept = default;
  AlignedBuffer& operator=(AlignedBuffer&&) noexcept = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() = default;

  /// Of memory of its own.
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const Buffer> owner_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};
/// Which of a chunk's scratch areas: what is used at the same time is of different areas.
enum class Scratch : uint8_t { kRows, kTile, kRowsFloat, kMatrix, kCount };

/// At least `bytes` aligned to 64, contents unspecified, for a chunk of a loop until it ends: the
/// thread keeps the memory for the chunks that come. Never to be held across a loop, whose caller
/// may run chunks of other sessions while it waits; what the chunks of a loop share is the step's
/// (Step::shared_bytes). Allocates only when it has to grow.
std::byte* chunk_scratch(Scratch area, size_t bytes);
/// Grows each area of the calling thread to the most that any thread has asked for.
void grow_chunk_scratch();

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace octet::kernels
