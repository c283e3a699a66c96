// SPDX-License-Identifier: Apache-2.0
#include "data/sha256.h"

#include <array>

#include "core/format.h"
#include "core/shared_library.h"

#include "octet/tensor.h"

namespace octet {

namespace {

using DigestFunction = unsigned char* (*)(const unsigned char*, size_t, unsigned char*);

/// Lower-case hexadecimal digits of what one of libcrypto's functions makes of the bytes.
Result<std::string> digest(const char* name, size_t size, std::span<const std::byte> bytes) {
  const SharedLibrary crypto =
      OCTET_TRY(SharedLibrary::open({"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"},
                                    "install OpenSSL (Debian: libssl3) to check downloads"));
  DigestFunction function = nullptr;
  OCTET_TRY(crypto.load(name, function));
  std::array<unsigned char, 32> made{};
  function(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), made.data());
  std::string out;
  for (const unsigned char byte : std::span(made).first(size))
    out += fmt::format("{:02x}", byte);
  return out;
}

} // namespace

Result<std::string> sha256(std::span<const std::byte> bytes) {
  return digest("SHA256", 32, bytes);
}

Result<std::string> sha256_of_file(const std::string& path) {
  const std::shared_ptr<Buffer> file = OCTET_TRY(Buffer::map(path));
  return sha256(file->bytes());
}

Result<std::string> git_id_of_file(const std::string& path) {
  const std::shared_ptr<Buffer> file = OCTET_TRY(Buffer::map(path));
  std::string blob = fmt::format("blob {}", file->bytes().size());
  blob += '\0';
  blob.append(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  return digest("SHA1", 20, std::as_bytes(std::span(blob)));
}

} // namespace octet
