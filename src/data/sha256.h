// SPDX-License-Identifier: Apache-2.0
// SHA-256 of files, by the system's libcrypto (which libcurl brings along).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "octet/result.h"

namespace octet {

/// 64 lower-case hexadecimal digits.
Result<std::string> sha256(std::span<const std::byte> bytes);
Result<std::string> sha256_of_file(const std::string& path);

} // namespace octet
