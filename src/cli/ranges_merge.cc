// SPDX-License-Identifier: Apache-2.0
// octet ranges merge: the ranges that one machine would have observed, from what several did.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/range_files.h"
#include <CLI/CLI.hpp>

namespace octet::cli {
namespace {

class RangesMerge final : public Command {
 public:
  std::string_view name() const override { return "ranges merge"; }
  std::string_view summary() const override {
    return "ranges of all parts that octet calibrate --shard observed";
  }
  std::string_view example() const override {
    return "octet ranges merge part-1.shard part-2.shard part-3.shard -o ranges.json";
  }

  void define(CLI::App& app) override {
    add_list_argument(app, "shards", shards_, "every part of one calibration, in any order");
    output_.define(app);
    app.add_option("--calibrator", calibrator_,
                   "another one than the parts were observed with; both are one of percentile[:p], "
                   "entropy, mse, or this one is min-max");
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(output_.check(shards_, common));
    std::optional<Calibrator> by;
    if (!calibrator_.empty()) by = OCTET_TRY(parse_calibrator(calibrator_));
    const Interruptible interruptible;
    const RangeShard all = OCTET_TRY(merge_shards(shards_));
    const auto ranges = OCTET_TRY(ranges_of(all, by, [&] { return !interruptible.stopped(); }));
    OCTET_TRY(output_.write(ranges, common));
    return Answer::kDone;
  }

 private:
  std::vector<std::string> shards_;
  std::string calibrator_;
  RangeOutput output_;
};

} // namespace

Command& ranges_merge_command() {
  static RangesMerge command;
  return command;
}

} // namespace octet::cli
