// SPDX-License-Identifier: Apache-2.0
// What a lock keeps of a model itself.
#pragma once

#include "octet/lock.h"

namespace octet {

/// The statements of the textual form with their hashes; a node that holds graphs is one.
std::vector<LockedHash> parts_of(const Graph& graph);

} // namespace octet
