// SPDX-License-Identifier: Apache-2.0
// Files of ranges against a published cache line, round trips, and ranges that were worked out.
#include <cmath>

#include "quant/prepare.h"
#include "quant/support.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/ranges.h"

namespace octet {
namespace {

TEST(Ranges, ReadsTensorRtsCache) {
  // 3c008912 is the scale 0.00784518 (docs/targets.md 3): the range is 127 times that.
  const auto ranges = parse_ranges("TRT-8601-EntropyCalibration2\n(Unnamed Layer* 0) [Conv]: out: "
                                   "3c008912\nx: 3f800000\n",
                                   RangeFormat::kTensorRt)
                          .value();
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].tensor, "(Unnamed Layer* 0) [Conv]: out");
  EXPECT_NEAR(ranges[0].range.hi, 0.99634, 5e-6);
  EXPECT_EQ(ranges[1].range, (Range{-127, 127}));
}

TEST(Ranges, WritesWhatItReads) {
  const std::vector<TensorRange> ranges = {{"a b:c", {-127, 63.5}}, {"y", {0, 254}}};
  const std::vector<TensorRange> symmetric = {{"a b:c", {-127, 127}}, {"y", {-254, 254}}};
  EXPECT_EQ(format_ranges(ranges, RangeFormat::kTensorRt, "TRT-100001-MinMaxCalibration").value(),
            "TRT-100001-MinMaxCalibration\na b:c: 3f800000\ny: 40000000\n");
  EXPECT_EQ(format_ranges(ranges, RangeFormat::kOnnxRuntime).value(), "a b:c 127\ny 254\n");
  for (const RangeFormat format :
       {RangeFormat::kTensorRt, RangeFormat::kOnnxRuntime, RangeFormat::kJson}) {
    const std::string text = format_ranges(ranges, format).value();
    EXPECT_EQ(guess_range_format(text), format);
    EXPECT_EQ(parse_ranges(text, format).value(),
              format == RangeFormat::kJson ? ranges : symmetric);
  }
}

TEST(Ranges, RefusesWhatIsNoneAndSaysWhere) {
  const auto refused = [](std::string_view text, RangeFormat format) {
    const auto ranges = parse_ranges(text, format);
    return ranges.ok() ? std::string("accepted") : ranges.error().text();
  };
  const std::string heading(kTensorRtHeading);
  EXPECT_NE(refused("x: 3c008912\n", RangeFormat::kTensorRt).find("line 1"), std::string::npos);
  EXPECT_NE(refused(heading + "\nx 3c008912\n", RangeFormat::kTensorRt).find("line 2"),
            std::string::npos);
  EXPECT_NE(refused(heading + "\nx: 3c00891g\n", RangeFormat::kTensorRt).find("3c00891g"),
            std::string::npos);
  EXPECT_NE(refused(heading + "\nx: 7fc00000\n", RangeFormat::kTensorRt).find("nan"),
            std::string::npos);
  EXPECT_NE(refused("x -1\n", RangeFormat::kOnnxRuntime).find("-1"), std::string::npos);
  EXPECT_NE(refused("{\"x\": [2, 1]}", RangeFormat::kJson).find("\"x\""), std::string::npos);
  EXPECT_NE(refused("[1, 2]", RangeFormat::kJson).find("object"), std::string::npos);
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(format_ranges({{"x", {0, infinite}}}, RangeFormat::kJson).ok());
}

/// A plan from ranges that were observed is the plan from the data.
TEST(Ranges, QuantizeAsTheDataTheyCameFrom) {
  const Graph graph = prepare_for_quantization(test::cnn({.softmax = false})).value();
  const QuantizationPlan from_data =
      plan_quantization(graph, test::cnn_data(), {.target = "tensorrt-10"}).value();
  QuantizeOptions options{.target = "tensorrt-10"};
  for (const TensorPlan& t : from_data.tensors)
    if (!t.axis && t.algorithm == "min-max") options.ranges[t.value] = t.ranges.at(0);
  ASSERT_GT(options.ranges.size(), 2U);
  const QuantizationPlan from_ranges =
      plan_quantization(graph, CalibrationSource{}, options).value();
  EXPECT_EQ(quantize(graph, from_ranges).value().content_hash(),
            quantize(graph, from_data).value().content_hash());
  EXPECT_EQ(from_ranges.samples, 0);
  options.ranges.erase(options.ranges.begin());
  const auto missing = plan_quantization(graph, CalibrationSource{}, options);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().text().find("no range"), std::string::npos) << missing.error().text();
}

/// A Softmax of operator set 10 becomes three nodes: what goes into the second is what went into the
/// first.
TEST(Ranges, HoldForWhatTheirValuesAreMovedTo) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=10)\ninput x: f32[2, 3, 4, 4]\n"
                  "const w: f32[2, 3, 1, 1] = [0.5, -0.25, 1, 0.75, -1, 0.125]\n"
                  "s = Softmax(x) {axis=1}\ny = Conv(s, w)\noutput y: f32[2, 2, 4, 4]\n")
          .value();
  QuantizeOptions options{.target = "onnxruntime", .softmax = true};
  options.ranges = {{"x", {-2, 3}}, {"s", {0, 0.5}}, {"y", {-1, 1}}};
  const QuantizationPlan plan = plan_quantization(graph, CalibrationSource{}, options).value();
  int inside = 0;
  for (const TensorPlan& t : plan.tensors)
    inside += t.algorithm == "given" && t.ranges.at(0) == Range{-2, 3} ? 1 : 0;
  EXPECT_EQ(inside, 1);
  EXPECT_TRUE(quantize(graph, plan).ok());
  options.ranges.erase("x");
  EXPECT_FALSE(plan_quantization(graph, CalibrationSource{}, options).ok());
}

TEST(Ranges, DifferInStepsOfTheFirst) {
  const std::vector<TensorRange> before = {{"same", {-3, 2}},
                                           {"magnitude", {-127, 5}},
                                           {"lower", {-55, 200}},
                                           {"gone", {0, 1}},
                                           {"empty", {}}};
  const std::vector<TensorRange> after = {{"empty", {-2, 2}},
                                          {"lower", {-57, 200}},
                                          {"magnitude", {-4, 130}},
                                          {"new", {1, 2}},
                                          {"same", {-3, 2}}};
  const auto said = [&](bool symmetric, double tolerance) {
    std::string out;
    for (const RangeDifference& d : compare_ranges(before, after, symmetric, tolerance))
      out += fmt::format("{} {:.3f} {:+.3f}%\n", d.tensor, d.steps, d.percent);
    return out;
  };
  // Symmetric: 130 - 127 in steps of 127 / 127; asymmetric: 125 in steps of 132 / 255, 2 of 255 / 255.
  EXPECT_EQ(said(true, 0), "gone 0.000 +0.000%\nnew 0.000 +0.000%\nempty 127.000 +100.000%\n"
                           "magnitude 3.000 +2.362%\n");
  EXPECT_EQ(said(false, 1), "gone 0.000 +0.000%\nnew 0.000 +0.000%\nmagnitude 241.477 +1.515%\n"
                            "empty 127.500 +100.000%\nlower 2.000 +0.784%\n");
  EXPECT_EQ(said(true, 3), "gone 0.000 +0.000%\nnew 0.000 +0.000%\nempty 127.000 +100.000%\n");
  EXPECT_TRUE(compare_ranges(before, before, true, 0).empty());
}

TEST(Ranges, AutoComparesNetworksNotRanges) {
  const auto data = open_dataset("generated", Split::kTrain).value();
  const auto none = observe_ranges(test::cnn(), *data, {.calibrator = Auto{}, .samples = 8});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("plan with it"), std::string::npos) << none.error().text();
  EXPECT_TRUE(observe_ranges(test::cnn(), *data, {.samples = 8}).ok());
}

} // namespace
} // namespace octet
