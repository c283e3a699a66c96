// SPDX-License-Identifier: Apache-2.0
// Calibration caches on their way to TensorRT, which skips one whose first line names another
// version or calibrator than its own, and recalibrates. A range is one of a tensor whatever version
// took it: the heading is written anew.
// Source: docs/engine.md; NVIDIA/TensorRT issue 1378 (skipped where incompatible) and
// NVIDIA/Deep-Learning-Accelerator-SW issue 26 (a TRT-8600 cache under 10.3).
#include <charconv>
#include <set>

#include "core/format.h"

#include "octet/engine_calibration.h"
#include "octet/ranges.h"

namespace octet {
namespace {

constexpr std::pair<EngineCalibrator, std::string_view> kAlgorithms[] = {
    {EngineCalibrator::kEntropy, "EntropyCalibration2"},
    {EngineCalibrator::kMinMax, "MinMaxCalibration"}};

std::string_view first_line(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// "8.6.1" is 8601, "10.1.0" is 100100 (NvInferVersion.h).
Result<int64_t> number_of(std::string_view version) {
  int64_t parts[3] = {};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (int64_t& part : parts) {
    const auto [next, code] = std::from_chars(at, end, part);
    const bool last = &part == &parts[2];
    if (code != std::errc() || part < 0 || part > 999 ||
        (last ? next != end : next == end || *next != '.'))
      return error("\"{}\" is no version of TensorRT, such as 8.6.1", version);
    at = last ? next : next + 1;
  }
  return parts[0] >= 10 ? parts[0] * 10000 + parts[1] * 100 + parts[2]
                        : parts[0] * 1000 + parts[1] * 100 + parts[2];
}

} // namespace

std::string_view name(EngineCalibrator calibrator) {
  return calibrator == EngineCalibrator::kEntropy ? "entropy" : "minmax";
}

Result<EngineCalibrator> parse_engine_calibrator(std::string_view text) {
  for (const auto& [calibrator, algorithm] : kAlgorithms)
    if (text == name(calibrator)) return calibrator;
  return error("unknown calibrator \"{}\" of TensorRT; use entropy or minmax", text);
}

Result<std::string> cache_heading(std::string_view version, EngineCalibrator calibrator) {
  const int64_t number = OCTET_TRY(number_of(version));
  for (const auto& [known, algorithm] : kAlgorithms)
    if (known == calibrator) return fmt::format("TRT-{}-{}", number, algorithm);
  return error("unknown calibrator");
}

Result<EngineCalibrator> calibrator_of_cache(std::string_view cache) {
  const std::string_view heading = first_line(cache);
  const size_t dash = heading.rfind('-');
  if (!heading.starts_with("TRT-") || dash < 4)
    return error("line 1: \"{}\" is no heading of a calibration cache, such as {}; octet calibrate "
                 "--format tensorrt writes one",
                 heading.substr(0, 60), kTensorRtHeading);
  for (const auto& [calibrator, algorithm] : kAlgorithms)
    if (heading.substr(dash + 1) == algorithm) return calibrator;
  return error("line 1: {} is of a calibrator that octet does not use; EntropyCalibration2 and "
               "MinMaxCalibration are",
               heading.substr(0, 60));
}

Result<ReadyCache> ready_cache(std::string_view cache,
                               EngineCalibrator calibrator,
                               std::string_view version,
                               const std::vector<std::string>& tensors) {
  const EngineCalibrator made_by = OCTET_TRY(calibrator_of_cache(cache));
  if (made_by != calibrator)
    return error("the cache is of the calibrator {}, and {} is asked for; take another "
                 "--calibration-cache, or --calibrate {}",
                 name(made_by), name(calibrator), name(made_by));
  const auto ranges = OCTET_TRY(parse_ranges(cache, RangeFormat::kTensorRt));
  std::set<std::string_view> with_range;
  for (const TensorRange& r : ranges)
    with_range.insert(r.tensor);
  ReadyCache out;
  out.heading = first_line(cache);
  for (const std::string& tensor : tensors)
    if (with_range.contains(tensor))
      ++out.known;
    else
      out.missing.push_back(tensor);
  if (out.known == 0)
    return error("of its {} tensors the model has none; it is the cache of another model",
                 ranges.size());
  out.text = OCTET_TRY(cache_heading(version, calibrator));
  if (const size_t line_end = cache.find('\n'); line_end != std::string_view::npos)
    out.text += cache.substr(line_end);
  return out;
}

} // namespace octet
