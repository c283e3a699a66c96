// SPDX-License-Identifier: Apache-2.0
// The one table of number formats. Sources: ONNX's texts of QuantizeLinear and DequantizeLinear and
// its release table (operator set, file format); OCP Microscaling Formats 1.0 for MX.
#include "octet/number_format.h"

#include <algorithm>

#include "core/format.h"
#include "core/string_util.h"

namespace octet {

namespace {

constexpr int64_t kLeastBlock = 16, kLargestBlock = 1024;
/// The first operator set with blocks, and its file format.
constexpr int64_t kBlocksSince = 21, kBlocksIrVersion = 10;

struct FormatRow {
  std::string_view name;
  NumberFormat format;
  bool takes_blocks; ///< of any size, as `name/block`
  int64_t opset, ir_version;
};

constexpr FormatRow kNumberFormats[] = {
    {"int8", {DType::kInt8}, true, 13, 7},
    {"uint8", {DType::kUint8}, true, 13, 7},
    {"int16", {DType::kInt16}, false, 21, 10},
    {"uint16", {DType::kUint16}, false, 21, 10},
    {"int4", {DType::kInt4}, true, 21, 10},
    {"uint4", {DType::kUint4}, true, 21, 10},
    {"int2", {DType::kInt2}, true, 25, 13},
    {"uint2", {DType::kUint2}, true, 25, 13},
    {"fp8-e4m3fn", {DType::kFloat8E4M3FN}, true, 19, 9},
    {"fp8-e4m3fnuz", {DType::kFloat8E4M3FNUZ}, true, 19, 9},
    {"fp8-e5m2", {DType::kFloat8E5M2}, true, 19, 9},
    {"fp8-e5m2fnuz", {DType::kFloat8E5M2FNUZ}, true, 19, 9},
    {"mxfp8-e4m3", {DType::kFloat8E4M3FN, DType::kFloat8E8M0, 32}, false, 24, 12},
    {"mxfp4", {DType::kFloat4E2M1, DType::kFloat8E8M0, 32}, false, 24, 12},
    {"nvfp4", {DType::kFloat4E2M1, DType::kFloat8E4M3FN, 16}, false, 23, 11},
    {"float", {DType::kFloat32}, false, 7, 3},
};

/// Formats that people know and no file can hold.
constexpr std::string_view kWithoutType[] = {"fp8-e3m4", "fp8-e3m4ieee"};

/// The row of a format, whatever its blocks are where it takes any.
const FormatRow* format_row(const NumberFormat& format) {
  for (const FormatRow& row : kNumberFormats)
    if (row.format.type == format.type && row.format.scale == format.scale &&
        (row.takes_blocks || row.format.block == format.block))
      return &row;
  return nullptr;
}

} // namespace

std::string name(const NumberFormat& format) {
  const FormatRow* row = format_row(format);
  if (row == nullptr)
    return fmt::format("{}/{} with scales of {}", name(format.type), format.block,
                       name(format.scale));
  if (!row->takes_blocks || format.block == 0) return std::string(row->name);
  return fmt::format("{}/{}", row->name, format.block);
}

std::vector<std::string_view> number_format_names() {
  std::vector<std::string_view> out;
  for (const FormatRow& row : kNumberFormats)
    out.push_back(row.name);
  return out;
}

Result<NumberFormat> parse_number_format(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view stem = text.substr(0, slash);
  if (std::count(std::begin(kWithoutType), std::end(kWithoutType), stem) > 0)
    return error(ErrorCode::kUnsupported,
                 "format \"{}\": ONNX has no such type, so that no file holds it; octet formats "
                 "measures it, and fp8-e4m3fn and fp8-e5m2 can be written",
                 stem);
  const auto row = std::find_if(std::begin(kNumberFormats), std::end(kNumberFormats),
                                [&](const FormatRow& r) { return r.name == stem; });
  if (row == std::end(kNumberFormats)) {
    std::vector<std::string> names;
    for (const std::string_view known : number_format_names())
      names.emplace_back(known);
    const auto near = nearest_match(stem, names);
    return error("unknown number format \"{}\"; {}there are {}, with blocks as in int4/32", stem,
                 near ? fmt::format("did you mean \"{}\"? ", *near) : "", join(names, ", "));
  }
  NumberFormat out = row->format;
  if (slash == std::string_view::npos) return out;
  if (!row->takes_blocks)
    return error("format \"{}\": {} has {}", text, stem,
                 out.block > 0 ? fmt::format("blocks of {}, and no others", out.block)
                               : "no blocks");
  out.block = whole_number(text.substr(slash + 1));
  if (out.block < kLeastBlock || out.block > kLargestBlock)
    return error("format \"{}\": blocks have {} to {} numbers", text, kLeastBlock, kLargestBlock);
  return out;
}

bool is_float(const NumberFormat& format) {
  return format.type == DType::kFloat32;
}

bool is_byte(const NumberFormat& format) {
  return (format.type == DType::kInt8 || format.type == DType::kUint8) && format.block == 0;
}

int64_t first_opset(const NumberFormat& format) {
  const FormatRow* row = format_row(format);
  const int64_t of_type = row != nullptr ? row->opset : kBlocksSince;
  return format.block > 0 ? std::max(of_type, kBlocksSince) : of_type;
}

int64_t first_ir_version(const NumberFormat& format) {
  const FormatRow* row = format_row(format);
  const int64_t of_type = row != nullptr ? row->ir_version : kBlocksIrVersion;
  return format.block > 0 ? std::max(of_type, kBlocksIrVersion) : of_type;
}

} // namespace octet
