// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include <nlohmann/json.hpp>

#include "octet/ranges.h"

namespace octet {

namespace {

constexpr double kCodes = 127;

double magnitude(const Range& range) {
  return std::max(std::fabs(range.lo), std::fabs(range.hi));
}

std::string cache_line(const TensorRange& r) {
  const auto scale = static_cast<float>(magnitude(r.range) / kCodes);
  return fmt::format("{}: {:08x}\n", r.tensor, std::bit_cast<uint32_t>(scale));
}

Result<TensorRange> parse_cache_line(std::string_view line) {
  const size_t colon = line.rfind(": "); // names may hold colons and spaces
  if (colon == std::string_view::npos) return error("no \": \" between a name and a scale");
  const std::string_view digits = trim(line.substr(colon + 2));
  uint32_t bits = 0;
  const auto [end, code] = std::from_chars(digits.begin(), digits.end(), bits, 16);
  if (code != std::errc() || end != digits.end() || digits.empty())
    return error("\"{}\" is no hexadecimal number", digits);
  const auto scale = std::bit_cast<float>(bits);
  if (!std::isfinite(scale) || scale < 0) return error("{} stands for the scale {}", digits, scale);
  return TensorRange{std::string(line.substr(0, colon)), {-kCodes * scale, kCodes * scale}};
}

Result<TensorRange> parse_table_line(std::string_view line) {
  const size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos || space == 0)
    return error("no space between a name and a range");
  const std::string_view digits = line.substr(space + 1);
  double range = 0;
  const auto [end, code] = std::from_chars(digits.begin(), digits.end(), range);
  if (code != std::errc() || end != digits.end() || !std::isfinite(range) || range < 0)
    return error("\"{}\" is no range: give a number from 0 up", digits);
  return TensorRange{std::string(trim(line.substr(0, space))), {-range, range}};
}

Result<std::vector<TensorRange>>
parse_lines(std::string_view text, bool heading, Result<TensorRange> (*parse)(std::string_view)) {
  std::vector<TensorRange> out;
  int64_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (heading && number == 1) {
      if (!line.starts_with("TRT-"))
        return error("line 1: \"{}\" is no heading of a calibration cache, such as {}",
                     line.substr(0, 60), kTensorRtHeading);
      continue;
    }
    if (trim(line).empty()) continue;
    out.push_back(OCTET_TRY_WITH(parse(line), fmt::format("line {}", number)));
  }
  return out;
}

Result<std::vector<TensorRange>> ranges_of_json(std::string_view text) {
  const nlohmann::json json = OCTET_TRY(parse_json(text));
  if (!json.is_object()) return error("no JSON object of \"tensor\": [lowest, highest]");
  std::vector<TensorRange> out;
  for (const auto& [name, range] : json.items()) {
    const bool pair =
        range.is_array() && range.size() == 2 && range[0].is_number() && range[1].is_number();
    if (!pair) return error("\"{}\": give [lowest, highest]", name);
    const Range r{range[0].get<double>(), range[1].get<double>()};
    if (!std::isfinite(r.lo) || !std::isfinite(r.hi) || r.lo > r.hi)
      return error("\"{}\": [{}, {}] is no range", name, r.lo, r.hi);
    out.push_back({name, r});
  }
  return out;
}

} // namespace

Result<RangeFormat> parse_range_format(std::string_view text) {
  if (text == "json") return RangeFormat::kJson;
  if (text == "tensorrt") return RangeFormat::kTensorRt;
  if (text == "onnxruntime") return RangeFormat::kOnnxRuntime;
  return error("unknown format \"{}\"; use json, tensorrt or onnxruntime", text);
}

Result<std::string> format_ranges(const std::vector<TensorRange>& ranges,
                                  RangeFormat format,
                                  std::string_view heading) {
  for (const TensorRange& r : ranges) {
    if (!std::isfinite(r.range.lo) || !std::isfinite(r.range.hi))
      return error("the range of \"{}\" is [{}, {}]", r.tensor, r.range.lo, r.range.hi);
    if (format != RangeFormat::kJson && r.tensor.find('\n') != std::string::npos)
      return error("the name \"{}\" has a line break; use json", r.tensor);
  }
  if (format == RangeFormat::kJson) {
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    for (const TensorRange& r : ranges)
      out[r.tensor] = {r.range.lo, r.range.hi};
    return json_text(out) + "\n";
  }
  std::string out;
  if (format == RangeFormat::kTensorRt) out = std::string(heading) + "\n";
  for (const TensorRange& r : ranges)
    out += format == RangeFormat::kTensorRt
               ? cache_line(r)
               : fmt::format("{} {}\n", r.tensor, static_cast<float>(magnitude(r.range)));
  return out;
}

Result<std::vector<TensorRange>> parse_ranges(std::string_view text, RangeFormat format) {
  switch (format) {
  case RangeFormat::kJson:
    return ranges_of_json(text);
  case RangeFormat::kTensorRt:
    return parse_lines(text, true, parse_cache_line);
  case RangeFormat::kOnnxRuntime:
    return parse_lines(text, false, parse_table_line);
  }
  return error("unknown format");
}

RangeFormat guess_range_format(std::string_view text) {
  const std::string_view start = trim(text.substr(0, 64));
  if (start.starts_with('{')) return RangeFormat::kJson;
  return start.starts_with("TRT-") ? RangeFormat::kTensorRt : RangeFormat::kOnnxRuntime;
}

} // namespace octet
