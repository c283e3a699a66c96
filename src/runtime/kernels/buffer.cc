// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/buffer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace octet::kernels {
namespace {

constexpr size_t kLine = 64;

} // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) : bytes_(bytes) {
  const size_t total = (bytes + kLine - 1) / kLine * kLine + kLine;
  data_.reset(std::aligned_alloc(kLine, total));
  if (!data_) throw std::bad_alloc();
  std::memset(data_.get(), 0, total);
}

std::byte* thread_scratch(Scratch area, size_t bytes) {
  thread_local std::array<AlignedBuffer, static_cast<size_t>(Scratch::kCount)> areas;
  AlignedBuffer& buffer = areas[static_cast<size_t>(area)];
  if (buffer.bytes() < bytes || buffer.bytes() == 0) {
    buffer = AlignedBuffer(std::max(bytes, buffer.bytes() * 2));
  }
  return buffer.as<std::byte>();
}

} // namespace octet::kernels
