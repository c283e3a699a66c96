// SPDX-License-Identifier: Apache-2.0
// Shared by the kernel tests: the instruction sets of this machine with a record of which were
// covered, buffers with guard bytes, and random fills that start with extremes.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/cpu.h"
#include "runtime/kernels/buffer.h"
#include <gtest/gtest.h>

namespace octet::test {

/// Instruction sets that this machine can run; asking for them marks them as covered by `kernel`.
std::vector<Isa> covered_isas(const std::string& kernel);

/// `count` values of T at a chosen misalignment, between guard bytes that must survive.
template <typename T>
class Guarded {
 public:
  explicit Guarded(int64_t count, size_t misalign = 0)
      : count_(count), start_(kGuard + misalign * sizeof(T)) {
    bytes_.assign(start_ + static_cast<size_t>(count) * sizeof(T) + kGuard, kFill);
  }
  T* data() { return reinterpret_cast<T*>(bytes_.data() + start_); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.data() + start_); }
  T& operator[](int64_t i) { return data()[i]; }
  const T& operator[](int64_t i) const { return data()[i]; }
  int64_t size() const { return count_; }

  bool guards_intact() const {
    const size_t end = start_ + static_cast<size_t>(count_) * sizeof(T);
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < start_ || i >= end) && bytes_[i] != kFill) return false;
    }
    return true;
  }
  bool operator==(const Guarded& other) const {
    return count_ == other.count_ &&
           (count_ == 0 ||
            std::memcmp(data(), other.data(), static_cast<size_t>(count_) * sizeof(T)) == 0);
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kFill = 0xA5;
  int64_t count_;
  size_t start_;
  std::vector<uint8_t> bytes_;
};

/// Gives a product the memory that its threads share, for as long as what is returned lives.
template <typename Args>
[[nodiscard]] kernels::AlignedBuffer share(Args& args) {
  kernels::AlignedBuffer memory(shared_bytes(args));
  args.shared = memory.as<std::byte>();
  return memory;
}

/// Fills with integers from [lo, hi]; `extremes` uses the two ends only.
enum class Fill { kExtremes, kUniform, kBell };
template <typename T>
void fill(T* values, int64_t count, int lo, int hi, Fill how, std::mt19937& random) {
  std::uniform_int_distribution<int> uniform(lo, hi);
  std::normal_distribution<double> bell((lo + hi) / 2.0, (hi - lo) / 7.0);
  for (int64_t i = 0; i < count; ++i) {
    int v = uniform(random);
    if (how == Fill::kExtremes) v = random() % 2 == 0 ? lo : hi;
    if (how == Fill::kBell) v = std::min(hi, std::max(lo, static_cast<int>(bell(random))));
    values[i] = static_cast<T>(v);
  }
}

} // namespace octet::test
