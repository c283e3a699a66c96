// SPDX-License-Identifier: Apache-2.0
// Seeds that a fuzz target makes in code instead of keeping them as files.
#pragma once

#include <string>
#include <vector>

namespace octet::fuzz {

/// Optional: a fuzz target may define this; its strings join the files of the corpus folder.
[[gnu::weak]] std::vector<std::string> seeds();

} // namespace octet::fuzz
