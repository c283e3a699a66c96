// SPDX-License-Identifier: Apache-2.0
// SHA-256 and git's SHA-1 of files, by the system's libcrypto (which libcurl brings along).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "octet/result.h"

namespace octet {

/// 64 lower-case hexadecimal digits.
Result<std::string> sha256(std::span<const std::byte> bytes);
Result<std::string> sha256_of_file(const std::string& path);
/// The id that git gives a file of this content: SHA-1 of "blob SIZE", a zero byte and the bytes.
Result<std::string> git_id_of_file(const std::string& path);

} // namespace octet
