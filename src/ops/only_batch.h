// SPDX-License-Identifier: Apache-2.0
// How many examples a model takes at a time, for all that can be told without running it.
#pragma once

#include <cstdint>
#include <optional>

#include "octet/graph.h"

namespace octet {

/// As fixed_batch() (graph/sizes.h), and 1 where inputs leave the batch open but what the graph
/// computes holds the sizes of one example, as some exporters write them: types then follow from
/// one example and from no larger number.
std::optional<int64_t> only_batch(const Graph& graph);

} // namespace octet
