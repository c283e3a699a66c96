// SPDX-License-Identifier: Apache-2.0
// Safetensors files: whatever the bytes are, tensors or an error come out.
#include "models/safetensors.h"

#include "replay/seeds.h"

namespace octet::fuzz {
namespace {

std::string file(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string out(reinterpret_cast<const char*>(&length), sizeof(length));
  return out + header + std::string(data_bytes, '\x3f');
}

} // namespace

std::vector<std::string> seeds() {
  return {
      file(
          R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
          24),
      file(R"({"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},)"
           R"("b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})",
           5),
      file("{}", 0)};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto buffer = octet::Buffer::borrow(std::as_bytes(std::span(data, size)));
  const auto weights = octet::parse_safetensors(buffer, "input");
  if (weights.ok())
    for (const octet::NamedWeight& w : *weights)
      static_cast<void>(w.tensor.content_hash());
  return 0;
}
