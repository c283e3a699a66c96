// SPDX-License-Identifier: Apache-2.0
// What each version of TensorRT is told to compute in, and what is refused.
#include <string>

#include <gtest/gtest.h>

#include "octet/engine.h"

namespace octet {
namespace {

using enum EnginePrecision;

EngineBuildOptions asking(std::vector<EnginePrecision> precisions = {}) {
  EngineBuildOptions out;
  out.precisions = std::move(precisions);
  return out;
}

std::string flags(std::string_view version, const EngineBuildOptions& options) {
  const Result<EngineFlags> out = engine_flags(version, options);
  return out.ok() ? flags_text(*out) : "refused: " + out.error().text();
}

void expect_refused(std::string_view version,
                    const EngineBuildOptions& options,
                    std::string_view expected) {
  const std::string text = flags(version, options);
  EXPECT_TRUE(text.starts_with("refused: ")) << version << ": " << text;
  EXPECT_NE(text.find(expected), std::string::npos) << version << ": " << text;
}

TEST(EnginePrecisions, FollowTheFileAndWhatIsAsked) {
  for (const std::string_view version : {"8.6.1", "9.3.0", "10.1.0", "10.16.0"}) {
    EXPECT_EQ(flags(version, asking()), "weakly typed");
    EXPECT_EQ(flags(version, asking({kFp16})), "weakly typed, fp16");
    EXPECT_EQ(flags(version, asking({kFp32})), "weakly typed, tf32 off");
    EXPECT_EQ(flags(version, asking({kFp32, kFp16})), "weakly typed, fp16, tf32 off");
    EXPECT_EQ(flags(version, asking({kFp32, kTf32})), "weakly typed, tf32");
    EngineBuildOptions codes = asking({kFp16});
    codes.int8_codes = true;
    EXPECT_EQ(flags(version, codes), "weakly typed, fp16, int8");
    EngineBuildOptions implicit = asking({kInt8});
    implicit.calibrator = EngineCalibrator::kEntropy;
    EXPECT_EQ(flags(version, implicit), "weakly typed, int8");
  }
  EngineBuildOptions fp8 = asking({kBf16, kFp8});
  fp8.fp8_codes = true;
  EXPECT_EQ(flags("10.1.0", fp8), "weakly typed, bf16, fp8");
  EngineBuildOptions strong = asking({kTf32});
  strong.strongly_typed = true;
  strong.int8_codes = strong.fp8_codes = true;
  EXPECT_EQ(flags("10.1.0", strong), "strongly typed, tf32");
  EXPECT_EQ(flags("9.3.0", strong), "strongly typed, tf32");
  strong.strongly_typed = false;
  EXPECT_EQ(flags("11.1.0", strong), "strongly typed, tf32");
}

TEST(EnginePrecisions, OfVersionsThatLackThem) {
  expect_refused("8.6.1", asking({kBf16}), "TensorRT 8.6.1 has no bf16; use --precision fp16");
  EngineBuildOptions fp8;
  fp8.fp8_codes = true;
  expect_refused("8.6.1", fp8, "TensorRT 8.6.1 has no fp8");
  EngineBuildOptions strong;
  strong.strongly_typed = true;
  expect_refused("8.6.1", strong, "TensorRT 8.6.1 has no strongly typed networks");
  for (const EnginePrecision precision : {kFp16, kBf16, kFp8, kInt8})
    expect_refused("11.1.0", asking({precision}), "TensorRT 11.1.0 computes in the types");
  EngineBuildOptions implicit;
  implicit.calibrator = EngineCalibrator::kMinMax;
  expect_refused("11.0.0", implicit, "TensorRT 11.0.0 has no implicit quantization");
}

TEST(EnginePrecisions, ThatContradictEachOther) {
  EngineBuildOptions strong = asking({kFp32, kFp16});
  strong.strongly_typed = true;
  expect_refused("10.1.0", strong, "--precision fp16: a strongly typed network");
  strong.precisions.clear();
  strong.calibrator = EngineCalibrator::kEntropy;
  expect_refused("10.1.0", strong, "--strongly-typed and --calibrate contradict each other");
  EngineBuildOptions both;
  both.int8_codes = both.fp8_codes = true;
  expect_refused("10.1.0", both, "--strongly-typed");
  EngineBuildOptions explicit_codes;
  explicit_codes.int8_codes = true;
  explicit_codes.calibrator = EngineCalibrator::kEntropy;
  expect_refused("10.1.0", explicit_codes, "the model has Q/DQ");
}

TEST(EnginePrecisions, NeedNumbersFromSomewhere) {
  expect_refused("10.1.0", asking({kInt8}), "the model has no int8 Q/DQ");
  expect_refused("10.1.0", asking({kFp8}), "the model has no fp8 Q/DQ");
  for (const std::string_view version : {"", "ten", "-1", "10a"})
    expect_refused(version, asking(), "is no version of TensorRT");
}

TEST(EnginePrecisions, HaveNames) {
  for (const EnginePrecision precision : {kFp32, kTf32, kFp16, kBf16, kFp8, kInt8})
    EXPECT_EQ(parse_engine_precision(name(precision)).value(), precision);
  EXPECT_EQ(parse_engine_precision("int4").error().text(),
            "unknown precision \"int4\"; use fp32, tf32, fp16, bf16, fp8 or int8");
}

} // namespace
} // namespace octet
