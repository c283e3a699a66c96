// SPDX-License-Identifier: Apache-2.0
// Proofs that a value behind codes is a number.
#pragma once

#include <optional>

#include "octet/graph.h"

namespace octet::lowering {

/// What no element exceeds in size, whatever the codes behind the value are: all are finite numbers
/// then. nullopt where that is not known, as behind inputs of the graph.
std::optional<double> magnitude_of(const Graph& graph, ValueId value);

} // namespace octet::lowering
