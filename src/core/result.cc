// SPDX-License-Identifier: Apache-2.0
#include "octet/result.h"

namespace octet::detail {

void check_failed(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what.c_str());
  std::abort();
}

} // namespace octet::detail
