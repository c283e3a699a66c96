// SPDX-License-Identifier: Apache-2.0
// Errors with formatted messages.
#pragma once

#include <fmt/format.h>

#include "octet/result.h"

namespace octet {

template <class... Args>
Error error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error(fmt::format(format, std::forward<Args>(args)...), code);
}

} // namespace octet
