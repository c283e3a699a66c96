// SPDX-License-Identifier: Apache-2.0
// Folders that tests need: the source tree and the build (its bin/octet is the command under test).
#pragma once

namespace octet::test {

/// Absolute path of the source tree, without a trailing slash.
const char* source_dir();

/// Absolute path of the build folder, without a trailing slash; bin/ and lib/ are in it.
const char* build_dir();

} // namespace octet::test
