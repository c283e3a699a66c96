// SPDX-License-Identifier: Apache-2.0
#include "cli/range_files.h"

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

constexpr size_t kMaxRangesBytes = size_t{1} << 30;

} // namespace

Result<std::vector<TensorRange>> read_ranges(const std::string& path) {
  const std::string text = OCTET_TRY(read_file(path, kMaxRangesBytes));
  if (is_shard_text(text))
    return error("{}: it holds what one part of a calibration saw; make ranges of all parts with "
                 "octet ranges merge",
                 path);
  return parse_ranges(text, guess_range_format(text)).with(path);
}

Result<RangesOrShard> read_ranges_or_shard(const std::string& path) {
  const std::string text = OCTET_TRY(read_file(path, kMaxRangesBytes));
  RangesOrShard out;
  if (!is_shard_text(text)) {
    out.ranges = OCTET_TRY(parse_ranges(text, guess_range_format(text)).with(path));
    return out;
  }
  out.shard = OCTET_TRY(parse_shard_text(text).with(path));
  // A part may have seen nothing of a tensor, which is no range.
  std::erase_if(out.shard->tensors,
                [](const auto& tensor) { return tensor.second.observed() == 0; });
  out.ranges = OCTET_TRY(ranges_of(*out.shard).with(path));
  return out;
}

void RangeOutput::define(CLI::App& app) {
  app_ = &app;
  app.add_option("-o,--output", path_, "file to write")->required();
  app.add_option("--format", format_, "json, tensorrt (8 to 10) or onnxruntime")
      ->capture_default_str();
  app.add_option("--heading", heading_, "first line of a TensorRT cache: version and calibrator")
      ->capture_default_str();
}

Status RangeOutput::check(const UsedFiles& used, const Common& common) const {
  OCTET_TRY(check_output(path_, used, common));
  OCTET_TRY(format());
  return ok_status();
}

bool RangeOutput::formatted() const {
  return app_->get_option("--format")->count() > 0 || app_->get_option("--heading")->count() > 0;
}

Status RangeOutput::write(const std::vector<TensorRange>& ranges, const Common& common) const {
  const std::string text = OCTET_TRY(format_ranges(ranges, OCTET_TRY(format()), heading_));
  OCTET_TRY(write_file(path_, text, common.force ? Overwrite::kYes : Overwrite::kNo));
  if (common.json)
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"tensors", ranges.size()}}, -1));
  else
    fmt::print("{}: ranges of {} tensors\n", path_, ranges.size());
  return ok_status();
}

} // namespace octet::cli
