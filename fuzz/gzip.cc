// SPDX-License-Identifier: Apache-2.0
// gzip files: whatever the bytes are, at most the limit comes out, in any sizes of pieces.
#include "data/gzip.h"

#include <array>
#include <cstdlib>

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  const std::string text(1000, 'a');
  const std::string one = gzip_compress(std::as_bytes(std::span(text)));
  return {one, one + one, one + std::string(5, '\0')};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLimit = 1 << 20;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const auto format : {octet::Deflate::kGzip, octet::Deflate::kRaw}) {
    const auto whole = octet::inflate_all(bytes, format, "input", kLimit);
    octet::InflateStream stream(bytes, format, "input", kLimit);
    std::array<std::byte, 777> piece{};
    size_t total = 0;
    while (true) {
      const auto n = stream.read(piece);
      if (!n.ok()) break;
      total += *n;
      if (*n < piece.size()) {
        if (!whole.ok() || total != whole->size()) std::abort();
        break;
      }
    }
  }
  return 0;
}
