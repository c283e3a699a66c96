// SPDX-License-Identifier: Apache-2.0
// Locks: whatever the JSON is, a lock or an error comes out, and a lock that was read is written and
// read again as the same text.
#include <cstdlib>
#include <optional>

#include "lock/file.h"
#include "replay/seeds.h"

namespace octet::fuzz {

namespace {

Lock small_lock() {
  Lock lock;
  lock.octet = "0.1.0";
  lock.isa = "avx2";
  lock.model = "m.onnx";
  lock.parts = {{"const w", 1}, {"y", 2}};
  lock.values = {{"y", 3}};
  lock.inputs = {{"x", Tensor::of<float>({2}, {1, 2})}};
  lock.outputs = {{"y", Tensor::of<int8_t>({2}, {3, 4})}};
  lock.accuracy = LockedAccuracy{"npz:d", 10, 0.5, 0.2, 0.8, 7};
  return lock;
}

} // namespace

std::vector<std::string> seeds() {
  NamedTensors arrays;
  return {lock_text(small_lock(), arrays), R"({"octet_lock": 1})", R"({"octet_lock": 2})"};
}

/// What it says, or nothing.
std::optional<std::string> read_and_written(std::string_view text, const NamedTensors& arrays) {
  const auto lock = parse_lock(text, [&]() -> Result<NamedTensors> { return arrays; });
  if (!lock.ok()) return std::nullopt;
  NamedTensors unused;
  return lock_text(*lock, unused);
}

NamedTensors small_arrays() {
  NamedTensors arrays;
  lock_text(small_lock(), arrays);
  return arrays;
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const octet::NamedTensors arrays = octet::fuzz::small_arrays();
  const auto text =
      octet::fuzz::read_and_written({reinterpret_cast<const char*>(data), size}, arrays);
  if (text && octet::fuzz::read_and_written(*text, arrays) != text) std::abort();
  return 0;
}
