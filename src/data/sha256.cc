// SPDX-License-Identifier: Apache-2.0
#include "data/sha256.h"

#include <array>

#include "core/format.h"
#include "core/shared_library.h"

#include "octet/tensor.h"

namespace octet {

Result<std::string> sha256(std::span<const std::byte> bytes) {
  const SharedLibrary crypto =
      OCTET_TRY(SharedLibrary::open({"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"},
                                    "install OpenSSL (Debian: libssl3) to check downloads"));
  unsigned char* (*function)(const unsigned char*, size_t, unsigned char*) = nullptr;
  OCTET_TRY(crypto.load("SHA256", function));
  std::array<unsigned char, 32> digest{};
  function(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string out;
  for (const unsigned char byte : digest)
    out += fmt::format("{:02x}", byte);
  return out;
}

Result<std::string> sha256_of_file(const std::string& path) {
  const std::shared_ptr<Buffer> file = OCTET_TRY(Buffer::map(path));
  return sha256(file->bytes());
}

} // namespace octet
