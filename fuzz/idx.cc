// SPDX-License-Identifier: Apache-2.0
// IDX files: whatever the bytes are, an array or an error comes out.
#include "data/idx.h"

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {std::string("\0\0\x08\x01\0\0\0\x02\x05\x06", 10),
          std::string("\0\0\x0d\x02\0\0\0\x01\0\0\0\x01\x3f\x80\0\0", 16)};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = octet::parse_idx(std::as_bytes(std::span(data, size)), "input");
  if (tensor.ok()) static_cast<void>(tensor->content_hash());
  return 0;
}
