// SPDX-License-Identifier: Apache-2.0
#include "cli/engine_calibrate.h"

#include <filesystem>

#include "cli/model_data.h"
#include "cli/options.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "octet/ranges.h"

namespace octet::cli {
namespace {

constexpr size_t kMaxCacheBytes = size_t{1} << 30;

bool is_there(const std::string& file) {
  std::error_code ignored;
  return !file.empty() && std::filesystem::exists(file, ignored);
}

} // namespace

void EngineCalibrationOptions::define(CLI::App& app) {
  app.add_option("--calibrate", calibrate_,
                 "entropy or minmax: TensorRT (before 11) takes ranges of a float model itself and "
                 "runs layers in int8; with --data or --calibration-cache")
      ->check(CLI::IsMember({"entropy", "minmax"}));
  app.add_option("--data", data_, "calibration data, kind:path (its training part)");
  add_count_option(app, "--limit", limit_, "examples to calibrate with, 0: all")
      ->capture_default_str();
  add_count_option(app, "--batch", batch_, "examples a batch of calibration", {1, 65536})
      ->capture_default_str();
  add_max_length(app, max_length_);
  add_zeros(app, zeros_);
  app.add_option(
      "--calibration-cache", cache_file_,
      "file of ranges: read if it is there (octet calibrate --format tensorrt writes one "
      "too), else written");
}

Status EngineCalibrationOptions::check(const UsedFiles& used, const Common& common) {
  const bool there = is_there(cache_file_);
  if (!calibrate_.empty())
    calibrator_ = OCTET_TRY(parse_engine_calibrator(calibrate_));
  else if (!data_.empty())
    return Error("--data is what --calibrate entropy or --calibrate minmax reads; say which, or "
                 "leave it out");
  else if (!cache_file_.empty() && !there)
    return error(ErrorCode::kNotFound,
                 "{}: there is no such calibration cache; make one with octet calibrate --format "
                 "tensorrt, or let TensorRT do so (--calibrate entropy --data D)",
                 cache_file_);
  if (!calibrate_.empty() && data_.empty() && !there)
    return error("--calibrate {} needs ranges: --data kind:path, or --calibration-cache of a file "
                 "that octet calibrate --format tensorrt wrote",
                 calibrate_);
  if (cache_file_.empty()) return ok_status();
  if (!there) return check_output(cache_file_, used, common);
  OCTET_TRY(check_unused(cache_file_, used, common));
  cache_text_ = OCTET_TRY(read_file(cache_file_, kMaxCacheBytes));
  if (!calibrator_) calibrator_ = OCTET_TRY(calibrator_of_cache(cache_text_).with(cache_file_));
  return ok_status();
}

Status EngineCalibrationOptions::open(const Graph& graph,
                                      const std::string& model,
                                      const std::string& version,
                                      const Say& say,
                                      const std::function<bool(int64_t, int64_t)>& progress,
                                      const Common& common) {
  if (!calibrator_) return ok_status();
  tensors_ = OCTET_TRY_WITH(calibrated_tensors(graph), model);
  if (is_there(cache_file_)) {
    Status read = read_cache(version, say);
    if (read.ok() || !common.force || data_.empty()) return std::move(read).with(cache_file_);
    say(fmt::format("{}: {}; it is made anew", cache_file_, read.error().text()));
  }
  return open_data(graph, model, say, progress, common);
}

Status EngineCalibrationOptions::read_cache(const std::string& version, const Say& say) {
  ReadyCache ready = OCTET_TRY(ready_cache(cache_text_, *calibrator_, version, tensors_));
  heading_ = ready.heading;
  if (const std::string own = OCTET_TRY(cache_heading(version, *calibrator_)); own != heading_)
    say(fmt::format("{}: is headed {}; TensorRT {} gets its ranges under {}", cache_file_, heading_,
                    version, own));
  if (!ready.missing.empty())
    say(fmt::format("{}: has no range of {} of the model's {} tensors ({}); layers that read or "
                    "write them stay in float",
                    cache_file_, ready.missing.size(), tensors_.size(), join_some(ready.missing)));
  if (!data_.empty()) say(fmt::format("{}: has the ranges, and --data is not read", cache_file_));
  missing_ = std::move(ready.missing);
  calibration_ = EngineCalibration::from_cache(std::move(ready.text));
  from_cache_ = true;
  return ok_status();
}

Status EngineCalibrationOptions::open_data(const Graph& graph,
                                           const std::string& model,
                                           const Say& say,
                                           const std::function<bool(int64_t, int64_t)>& progress,
                                           const Common& common) {
  ModelData wanted{data_, Split::kTrain, max_length_, limit_, {}, zeros_};
  wanted.full_rows = true;
  const auto examples = OCTET_TRY(open_model_data(wanted, graph, model, common));
  data_description_ = examples->description();
  EngineCalibration::Data feed;
  feed.samples = limit_;
  feed.batch = batch_;
  feed.progress = progress;
  feed.store = [this, say, &common](std::string_view cache) {
    written_ = cache;
    if (cache_file_.empty()) return;
    // At once: what took minutes is kept where the build fails later on.
    const Status status =
        write_file(cache_file_, cache, common.force ? Overwrite::kYes : Overwrite::kNo);
    if (!status.ok()) say(fmt::format("the calibration cache: {}", status.error().text()));
  };
  calibration_ =
      OCTET_TRY_WITH(EngineCalibration::from_data(graph, examples, std::move(feed)), model);
  if (calibration_->left_out() > 0)
    say(fmt::format("the last {} of {} examples fill no batch of {} and are left out",
                    calibration_->left_out(), calibration_->left_out() + calibration_->samples(),
                    calibration_->batch_size()));
  return ok_status();
}

void EngineCalibrationOptions::finish(const std::string& version) {
  if (written_.empty()) return;
  const auto ready = ready_cache(written_, *calibrator_, version, tensors_);
  missing_ = ready.ok() ? ready->missing : tensors_;
}

nlohmann::ordered_json EngineCalibrationOptions::json() const {
  if (!calibration_) return nullptr;
  nlohmann::ordered_json out = {{"calibrator", name(*calibrator_)},
                                {"from", from_cache_ ? "cache" : "data"}};
  if (!cache_file_.empty()) out["cache"] = cache_file_;
  if (from_cache_) {
    out["heading"] = heading_;
  } else {
    out["data"] = data_description_;
    out["samples"] = calibration_->given();
    out["batch"] = calibration_->batch_size();
  }
  out["tensors"] = tensors_.size() - missing_.size();
  out["missing"] = missing_;
  return out;
}

std::string EngineCalibrationOptions::text() const {
  if (!calibration_) return {};
  if (from_cache_) return fmt::format("{} ranges of {}", name(*calibrator_), cache_file_);
  return fmt::format("{} over {} examples of {}", name(*calibrator_), calibration_->given(),
                     data_description_);
}

} // namespace octet::cli
