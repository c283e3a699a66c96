// SPDX-License-Identifier: Apache-2.0
// The changes that repair can make, by name: a rule says which of them mend what it finds, and
// knows nothing of how.
#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

enum class Mend : uint8_t {
  kNone,
#define MEND(mend, name, function) mend,
#include "targets/mends.def"
#undef MEND
};

/// What reports call it; some do the same in two ways and share a name.
std::string_view name(Mend mend);

} // namespace octet
