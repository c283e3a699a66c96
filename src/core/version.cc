// SPDX-License-Identifier: Apache-2.0
// The version, which CMake passes to this file alone so that a new one recompiles nothing else.
#include "octet/version.h"

namespace octet {

const char* version() {
  return OCTET_VERSION;
}

} // namespace octet
