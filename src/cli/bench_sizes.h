// SPDX-License-Identifier: Apache-2.0
// What a new size costs: a context is given sizes of open dimensions in random order.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "octet/graph.h"
#include "octet/session.h"

namespace octet::cli {

/// Sizes that an open dimension takes: `low`, `low` + `step`, ..., up to `high`.
struct SizeRange {
  std::string symbol;
  int64_t low = 1, high = 1, step = 1;
};

/// `--sizes S=8:256` items, or `S=8:256:4`, for symbols of the inputs' shapes; errors name the item.
Result<std::vector<SizeRange>> parse_size_ranges(const Graph& graph,
                                                 const std::vector<std::string>& items);

struct SizeTimes {
  struct One {
    std::map<std::string, int64_t> sizes;
    double bind_us = 0; ///< before the first run at these sizes; little where they came lately
    double run_ms = 0;
  };
  double reserve_ms = 0; ///< of the largest
  std::vector<One> runs;
  PlanCounts counts;
  size_t arena_bytes = 0;
};

/// Reserves the largest sizes, then runs at sizes drawn from `seed`, on random inputs, for so many
/// seconds; once at least.
Result<SizeTimes> time_sizes(const Session& session,
                             const Graph& graph,
                             const std::vector<SizeRange>& ranges,
                             double seconds,
                             uint64_t seed);

/// Two lines.
std::string text(const SizeTimes& times);
std::string json(const SizeTimes& times);

} // namespace octet::cli
