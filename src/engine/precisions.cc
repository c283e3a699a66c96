// SPDX-License-Identifier: Apache-2.0
// What each version of TensorRT can be told to compute in. 8.6 has fp16 and int8, 9 and 10 bf16, fp8
// and strongly typed networks too, 11 strongly typed networks only and no calibrator.
// Source: BuilderFlag and NetworkDefinitionCreationFlag in NvInfer.h of 8.6 to 11.1 (8.6 warns that
// its kFP8 "is not supported yet"), and trtexec, which refuses fp8 together with int8.
#include <algorithm>
#include <charconv>

#include "core/format.h"

#include "octet/engine.h"

namespace octet {
namespace {

constexpr int kFirstWithNewTypes = 9, kFirstStrongOnly = 11;

constexpr EnginePrecision kPrecisions[] = {EnginePrecision::kFp32, EnginePrecision::kTf32,
                                           EnginePrecision::kFp16, EnginePrecision::kBf16,
                                           EnginePrecision::kFp8,  EnginePrecision::kInt8};

Result<int> major_of(std::string_view version) {
  int out = 0;
  const auto [end, code] = std::from_chars(version.data(), version.data() + version.size(), out);
  if (code != std::errc() || (end != version.data() + version.size() && *end != '.') || out <= 0)
    return error("\"{}\" is no version of TensorRT", version);
  return out;
}

bool asked(const EngineBuildOptions& options, EnginePrecision precision) {
  return std::find(options.precisions.begin(), options.precisions.end(), precision) !=
         options.precisions.end();
}

/// Rounding of products of fp32: said, or left as TensorRT has it.
std::optional<bool> tf32_of(const EngineBuildOptions& options) {
  if (asked(options, EnginePrecision::kTf32)) return true;
  if (asked(options, EnginePrecision::kFp32)) return false;
  return std::nullopt;
}

Error no_calibrator(std::string_view version) {
  return error(ErrorCode::kUnsupported,
               "TensorRT {} has no implicit quantization, which --calibrate asks for; put Q/DQ "
               "into the model instead: octet quantize MODEL --data D --target tensorrt-11",
               version);
}

Result<EngineFlags>
strong_flags(std::string_view version, int major, const EngineBuildOptions& options) {
  if (major < kFirstWithNewTypes)
    return error(ErrorCode::kUnsupported,
                 "TensorRT {} has no strongly typed networks; use 10 or newer, or leave "
                 "--strongly-typed out",
                 version);
  if (major >= kFirstStrongOnly && options.calibrator) return no_calibrator(version);
  if (options.calibrator)
    return Error("--strongly-typed and --calibrate contradict each other: a strongly typed network "
                 "takes int8 from Q/DQ in the file alone (octet quantize makes such a file)");
  for (const EnginePrecision precision : options.precisions)
    if (precision != EnginePrecision::kFp32 && precision != EnginePrecision::kTf32)
      return error(major >= kFirstStrongOnly ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
                   "--precision {}: {} computes in the types that the file has; convert the model "
                   "instead (octet export --precision fp16, octet quantize)",
                   name(precision),
                   major >= kFirstStrongOnly ? fmt::format("TensorRT {}", version)
                                             : "a strongly typed network");
  EngineFlags out;
  out.strongly_typed = true;
  out.tf32 = tf32_of(options);
  return out;
}

/// Types that the file or the calibrator must have brought.
Status check_sources(const EngineBuildOptions& options) {
  const bool codes = options.int8_codes || options.fp8_codes;
  if (options.calibrator && codes)
    return Error("the model has Q/DQ, beside which TensorRT ignores a calibrator; build it without "
                 "--calibrate, or build the float model with it");
  if (asked(options, EnginePrecision::kInt8) && !options.int8_codes && !options.calibrator)
    return Error("--precision int8: the model has no int8 Q/DQ; quantize it (octet quantize), or "
                 "let TensorRT calibrate (--calibrate entropy --data D)");
  if (asked(options, EnginePrecision::kFp8) && !options.fp8_codes)
    return Error("--precision fp8: the model has no fp8 Q/DQ, and TensorRT has no calibrator for "
                 "it; quantize the model (octet quantize --weights fp8-e4m3fn "
                 "--activations fp8-e4m3fn)");
  return ok_status();
}

Result<EngineFlags>
weak_flags(std::string_view version, int major, const EngineBuildOptions& options) {
  OCTET_TRY(check_sources(options));
  EngineFlags out;
  out.fp16 = asked(options, EnginePrecision::kFp16);
  out.bf16 = asked(options, EnginePrecision::kBf16);
  out.fp8 = options.fp8_codes;
  out.int8 = options.int8_codes || options.calibrator.has_value();
  out.tf32 = tf32_of(options);
  if (major < kFirstWithNewTypes && out.bf16)
    return error(ErrorCode::kUnsupported, "TensorRT {} has no bf16; use --precision fp16", version);
  if (major < kFirstWithNewTypes && out.fp8)
    return error(ErrorCode::kUnsupported,
                 "TensorRT {} has no fp8, in which the model has Q/DQ; use 10 or newer", version);
  if (out.fp8 && out.int8)
    return Error("the model has Q/DQ of int8 and of fp8, which a weakly typed network cannot mix; "
                 "build it with --strongly-typed");
  return out;
}

} // namespace

std::string_view name(EnginePrecision precision) {
  switch (precision) {
  case EnginePrecision::kFp32:
    return "fp32";
  case EnginePrecision::kTf32:
    return "tf32";
  case EnginePrecision::kFp16:
    return "fp16";
  case EnginePrecision::kBf16:
    return "bf16";
  case EnginePrecision::kFp8:
    return "fp8";
  case EnginePrecision::kInt8:
    return "int8";
  }
  return {};
}

Result<EnginePrecision> parse_engine_precision(std::string_view text) {
  for (const EnginePrecision precision : kPrecisions)
    if (name(precision) == text) return precision;
  return error("unknown precision \"{}\"; use fp32, tf32, fp16, bf16, fp8 or int8", text);
}

std::string_view name(TimingCacheUse use) {
  switch (use) {
  case TimingCacheUse::kNone:
    return "none";
  case TimingCacheUse::kUsed:
    return "used";
  case TimingCacheUse::kRefused:
    return "refused";
  }
  return {};
}

std::string flags_text(const EngineFlags& flags) {
  std::string out = flags.strongly_typed ? "strongly typed" : "weakly typed";
  const std::pair<bool, std::string_view> all[] = {
      {flags.fp16, "fp16"}, {flags.bf16, "bf16"}, {flags.fp8, "fp8"}, {flags.int8, "int8"}};
  for (const auto& [set, word] : all)
    if (set) out += fmt::format(", {}", word);
  if (flags.tf32) out += *flags.tf32 ? ", tf32" : ", tf32 off";
  return out;
}

Result<EngineFlags> engine_flags(std::string_view version, const EngineBuildOptions& options) {
  const int major = OCTET_TRY(major_of(version));
  return options.strongly_typed || major >= kFirstStrongOnly ? strong_flags(version, major, options)
                                                             : weak_flags(version, major, options);
}

} // namespace octet
