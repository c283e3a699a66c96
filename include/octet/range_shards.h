// SPDX-License-Identifier: Apache-2.0
// Calibration in parts: each of several machines observes some of the batches that one would, and
// what they observed is merged into what that one would have, bit for bit.
// Source: docs/calibration.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/observer.h"
#include "octet/ranges.h"

namespace octet {

/// Part `index` (from 1) of `count`, up to kMostShards.
struct Shard {
  int64_t index = 1, count = 1;
  bool operator==(const Shard&) const = default;
};
inline constexpr int64_t kMostShards = 65536;
/// `3/8`. Errors: anything but two numbers of which the first is 1 to the second.
Result<Shard> parse_shard(std::string_view text);

/// What all parts of one calibration have in common.
struct ShardedRun {
  std::string octet; ///< version()
  uint64_t graph_hash = 0;
  std::string data; ///< Dataset::description()
  /// Of the number of examples, of their lengths, and of 16 examples evenly spaced.
  uint64_t data_hash = 0;
  Calibrator calibrator;
  Scheme scheme;
  std::string mask_input;
  int64_t samples = 0; ///< of all parts
  int64_t batch_size = 0;
};

/// What was observed of one part.
struct RangeShard {
  ShardedRun run;
  Shard shard;
  int64_t samples = 0; ///< that were seen, with those that fill up a fixed batch
  std::vector<std::pair<std::string, Observer>> tensors;
};

/// Observes one part of what observe_ranges does: of B batches those from (index - 1) * B / count on
/// up to index * B / count. With more parts than batches some see nothing. Options and errors as
/// observe_ranges.
Result<RangeShard> observe_shard(const Graph& graph,
                                 const Dataset& data,
                                 const QuantizeOptions& options,
                                 const Shard& shard);

/// The range of each tensor, by the calibrator with which it was observed, or by another one that
/// takes its range from the same histogram (Observer::ranges_by). `go_on` is asked before each tensor;
/// false is the error kCancelled. Errors name a tensor of which nothing finite was seen.
Result<std::vector<TensorRange>> ranges_of(const RangeShard& shard,
                                           const std::optional<Calibrator>& by = std::nullopt,
                                           const std::function<bool()>& go_on = {});

/// Lines of JSON: what the run is, one tensor a line, and the hash of the lines before.
std::string shard_text(const RangeShard& shard);
/// Errors: another version of the form, bytes that are missing or were changed, what shard_text
/// does not write.
Result<RangeShard> parse_shard_text(std::string_view text);
/// Whether a file seems to hold a shard.
bool is_shard_text(std::string_view text);

/// Merges the files of all parts of one calibration, in any order; memory holds two of them. What
/// comes out is what observe_shard gives of part 1 of 1. Errors name the file: one that cannot be
/// read, is of another run (and in what), is there twice, or is missing.
Result<RangeShard> merge_shards(const std::vector<std::string>& paths);

} // namespace octet
