// SPDX-License-Identifier: Apache-2.0
// Files of ranges, as several subcommands read and write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/outputs.h"

#include "octet/range_shards.h"
#include "octet/ranges.h"

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

/// JSON, a calibration cache or a table. Errors name the file: also a shard, which holds no ranges
/// before it is merged.
Result<std::vector<TensorRange>> read_ranges(const std::string& path);

/// The same, or what one shard saw.
struct RangesOrShard {
  std::vector<TensorRange> ranges;
  std::optional<RangeShard>
      shard; ///< where the file is one: its tensors have the order of `ranges`
};
Result<RangesOrShard> read_ranges_or_shard(const std::string& path);

/// -o, --format and --heading.
class RangeOutput {
 public:
  void define(CLI::App& app);
  /// Refuses at once what could not be written, and a format that there is not.
  Status check(const UsedFiles& used, const Common& common) const;
  Result<RangeFormat> format() const { return parse_range_format(format_); }
  const std::string& path() const { return path_; }
  bool formatted() const; ///< whether --format or --heading is given
  /// Writes the file and says so.
  Status write(const std::vector<TensorRange>& ranges, const Common& common) const;

 private:
  std::string path_, format_ = "json", heading_{kTensorRtHeading};
  const CLI::App* app_ = nullptr;
};

} // namespace octet::cli
