// SPDX-License-Identifier: Apache-2.0
#include "cli/locked_accuracy.h"

#include <algorithm>

#include "cli/evaluate.h"
#include "core/hash.h"
#include <fmt/format.h>

#include "octet/session.h"

namespace octet::cli {

Result<std::optional<LockedAccuracy>> locked_accuracy(const Graph& graph,
                                                      const Dataset& data,
                                                      const std::string& spec,
                                                      int64_t limit,
                                                      const Common& common) {
  const int64_t first = 0;
  if (data.size() == 0 || OCTET_TRY(data.batch({&first, 1})).labels.empty())
    return std::optional<LockedAccuracy>();
  const auto executor = OCTET_TRY(make_native_executor(graph, {.threads = common.threads}));
  const int64_t examples = std::min(limit, data.size());
  const Evaluation seen =
      OCTET_TRY(evaluate(graph, *executor, data, {.limit = examples, .latency_runs = 0}));
  return std::optional(
      LockedAccuracy{.data = spec,
                     .examples = seen.samples,
                     .accuracy = seen.accuracy,
                     .low = seen.interval.first,
                     .high = seen.interval.second,
                     .predictions = hash_bytes(std::as_bytes(std::span(seen.predictions)))});
}

std::string text_of(const LockedAccuracy& accuracy) {
  return fmt::format("{:.2f} % ({:.2f} to {:.2f}) of {} examples", 100 * accuracy.accuracy,
                     100 * accuracy.low, 100 * accuracy.high, accuracy.examples);
}

} // namespace octet::cli
