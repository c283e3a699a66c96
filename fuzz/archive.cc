// SPDX-License-Identifier: Apache-2.0
// Archives: whatever the bytes are, no name leads out, and no more comes out than is allowed.
#include "data/archive.h"

#include <cstdlib>

#include "data/gzip.h"
#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  const std::string nothing(1024, '\0');
  return {nothing, gzip_compress(std::as_bytes(std::span(nothing))),
          std::string("PK\x05\x06", 4) + std::string(18, '\0')};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr octet::ArchiveLimits kLimits{.files = 16, .bytes = 1 << 20};
  int64_t files = 0, bytes = 0;
  octet::ArchiveSink sink;
  sink.begin_file = [&](const std::string& name) -> octet::Status {
    if (name.front() == '/' || name.find("../") != std::string::npos || ++files > kLimits.files)
      std::abort();
    return octet::ok_status();
  };
  sink.add = [&](std::span<const std::byte> piece) -> octet::Status {
    bytes += static_cast<int64_t>(piece.size());
    if (bytes > kLimits.bytes) std::abort();
    return octet::ok_status();
  };
  const octet::Status read =
      octet::read_archive(std::as_bytes(std::span(data, size)), "input", kLimits, sink);
  return read.ok() || !read.error().text().empty() ? 0 : 1;
}
