// SPDX-License-Identifier: Apache-2.0
// Bytes of a fuzz target as the buffer that parsers of files take.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "octet/tensor.h"

namespace octet::fuzz {

/// Good as long as `bytes` is.
inline std::shared_ptr<const Buffer> borrow(const std::string& bytes) {
  return Buffer::borrow(std::as_bytes(std::span<const char>(bytes)));
}

} // namespace octet::fuzz
