// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/buffer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <utility>

#include "core/huge_pages.h"

namespace octet::kernels {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kAreas = static_cast<size_t>(Scratch::kCount);

/// The most that any thread has asked for.
std::array<std::atomic<size_t>, kAreas> most_bytes;

} // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) : bytes_(bytes) {
  const size_t total = (bytes + kLine - 1) / kLine * kLine + kLine;
  std::shared_ptr<Buffer> made = allocate_among_others(total);
  if (!made) throw std::bad_alloc();
  data_ = made->writable();
  owner_ = std::move(made);
}

AlignedBuffer::AlignedBuffer(std::shared_ptr<const Buffer> owner, std::span<const std::byte> bytes)
    : owner_(std::move(owner)), data_(const_cast<std::byte*>(bytes.data())), bytes_(bytes.size()) {}

std::byte* chunk_scratch(Scratch area, size_t bytes) {
  thread_local std::array<AlignedBuffer, kAreas> areas;
  const auto index = static_cast<size_t>(area);
  AlignedBuffer& buffer = areas[index];
  if (buffer.bytes() < bytes || buffer.bytes() == 0) {
    buffer = AlignedBuffer(std::max(bytes, buffer.bytes() * 2));
    std::atomic<size_t>& most = most_bytes[index];
    for (size_t seen = most.load(); seen < bytes && !most.compare_exchange_weak(seen, bytes);) {
    }
  }
  return buffer.as<std::byte>();
}

void grow_chunk_scratch() {
  for (size_t i = 0; i < kAreas; ++i)
    if (const size_t bytes = most_bytes[i].load(); bytes > 0)
      chunk_scratch(static_cast<Scratch>(i), bytes);
}

} // namespace octet::kernels
