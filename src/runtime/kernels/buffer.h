// SPDX-License-Identifier: Apache-2.0
// Bytes aligned to 64 for packed weights, and scratch memory that a thread keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace octet::kernels {

/// Zero-filled bytes aligned to a cache line, with a readable line after the last one.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes);

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  size_t bytes_ = 0;
};

/// Which of a thread's scratch areas: a kernel that calls another one uses a different area.
enum class Scratch : uint8_t { kRows, kTile, kRowsFloat, kShared, kCount };

/// At least `bytes` aligned to 64, owned by the calling thread until it ends, contents unspecified.
/// Allocates only when it has to grow.
std::byte* thread_scratch(Scratch area, size_t bytes);
/// Grows each area of the calling thread to the most that any thread has asked for.
void grow_thread_scratch();

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace octet::kernels
