// SPDX-License-Identifier: Apache-2.0
// The version of the library.
#pragma once

namespace octet {

/// Version of the loaded library as "major.minor.patch".
const char* version();

} // namespace octet
