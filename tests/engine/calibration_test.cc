// SPDX-License-Identifier: Apache-2.0
// What TensorRT's calibrators are fed with: batches of one shape in the order of calibration, and
// caches under the heading of the version that reads them.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "octet/engine_calibration.h"
#include "octet/graph_text.h"
#include "octet/ranges.h"

namespace octet {
namespace {

/// Example i is i in "x", of so many columns, and -i in "state".
class Counted final : public Dataset {
 public:
  explicit Counted(int64_t size, int64_t longer = -1) : size_(size), longer_(longer) {}
  std::string description() const override { return "counted"; }
  int64_t size() const override { return size_; }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    int64_t columns = 2;
    for (const int64_t index : indices) {
      if (index == kBroken) return Error("example 77 is broken");
      if (index == longer_) columns = 3;
    }
    std::vector<float> x, state;
    for (const int64_t index : indices) {
      x.insert(x.end(), static_cast<size_t>(columns), static_cast<float>(index));
      state.push_back(static_cast<float>(-index));
    }
    const auto rows = std::ssize(indices);
    Batch out;
    out.inputs.emplace_back("state", Tensor::of<float>({rows, 1}, state));
    out.inputs.emplace_back("x", Tensor::of<float>({rows, columns}, x));
    return out;
  }
  static constexpr int64_t kBroken = 77;

 private:
  int64_t size_, longer_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_;
};

Graph calibrated(const std::string& batch = "N") {
  return parse_graph(fmt::format("graph g opset(\"\"=17)\n"
                                 "input x: f32[{0}, C]\ninput state: f32[{0}, 1]\n"
                                 "s = Add(x, state)\n"
                                 "i = Cast(s) {{to=7}}\n"
                                 "r = Relu(s)\n"
                                 "output r: f32[{0}, C]\noutput i: i64[{0}, C]\n",
                                 batch))
      .value();
}

/// The first column of "x" in each batch that a calibrator would be given.
std::string given(EngineCalibration& calibration) {
  std::string out;
  const char* const names[] = {"state", "x"};
  for (;;) {
    auto batch = calibration.next(names);
    if (!batch.ok()) return out + "error: " + batch.error().text();
    if (!*batch) return out;
    out += out.empty() ? "" : " | ";
    const Tensor& state = (**batch)[0];
    const Tensor& x = (**batch)[1];
    for (int64_t i = 0; i < x.dim(0); ++i) {
      const auto at = static_cast<size_t>(i);
      EXPECT_EQ(x.data<float>()[at * static_cast<size_t>(x.dim(1))], -state.data<float>()[at]);
      out += fmt::format("{}{}", i == 0 ? "" : " ",
                         x.data<float>()[at * static_cast<size_t>(x.dim(1))]);
    }
  }
}

EngineCalibration feed_of(const Graph& graph, int64_t size, EngineCalibration::Data options) {
  return EngineCalibration::from_data(graph, std::make_shared<Counted>(size), std::move(options))
      .value();
}

TEST(EngineCalibrationData, ComesInWholeBatchesOfEvenlySpacedExamples) {
  const Graph graph = calibrated();
  EngineCalibration all = feed_of(graph, 7, {.batch = 3});
  EXPECT_EQ(all.samples(), 6);
  EXPECT_EQ(all.left_out(), 1);
  EXPECT_EQ(all.batch_size(), 3);
  ASSERT_EQ(all.shapes().size(), 2U);
  EXPECT_EQ(all.shapes()[0], (std::pair<std::string, Shape>{"x", {3, 2}}));
  EXPECT_EQ(all.given(), 0);
  // As octet calibrate --samples 6 takes them.
  EXPECT_EQ(given(all), "0 1 2 | 3 4 5");
  EXPECT_EQ(all.given(), 6);
  EXPECT_EQ(given(all), "");
  EngineCalibration some = feed_of(graph, 40, {.samples = 4, .batch = 2});
  EXPECT_EQ(given(some), "0 10 | 20 30");
  EngineCalibration few = feed_of(graph, 2, {.samples = 100, .batch = 8});
  EXPECT_EQ(few.batch_size(), 2);
  EXPECT_EQ(given(few), "0 1");
}

TEST(EngineCalibrationData, FillsBatchesThatTheModelFixes) {
  const Graph graph = calibrated("4");
  EngineCalibration calibration = feed_of(graph, 6, {.batch = 32});
  EXPECT_EQ(calibration.batch_size(), 4);
  EXPECT_EQ(calibration.left_out(), 0);
  EXPECT_EQ(given(calibration), "0 1 2 3 | 4 5 0 1");
  EXPECT_EQ(calibration.given(), 6);
}

TEST(EngineCalibrationData, TakesTheSameBatchesAsCalibration) {
  const Graph graph = calibrated();
  const Counted data(50);
  std::string expected;
  const CalibrationSource source = batches_of(graph, data, 24, 8);
  for (;;) {
    const auto batch = source().value();
    if (!batch) break;
    expected += expected.empty() ? "" : " | ";
    for (int64_t i = 0; i < 8; ++i)
      expected += fmt::format("{}{}", i == 0 ? "" : " ",
                              (*batch)[0].data<float>()[static_cast<size_t>(i) * 2]);
  }
  EngineCalibration calibration = feed_of(graph, 50, {.samples = 24, .batch = 8});
  EXPECT_EQ(given(calibration), expected);
}

TEST(EngineCalibrationData, SaysWhatIsWrongWithABatch) {
  const Graph graph = calibrated();
  EngineCalibration broken = feed_of(graph, 100, {.batch = 50});
  EXPECT_TRUE(given(broken).ends_with("error: calibration: batch 1: example 77 is broken"));
  EngineCalibration ragged =
      EngineCalibration::from_data(graph, std::make_shared<Counted>(4, 3), {.batch = 2}).value();
  EXPECT_EQ(given(ragged), "0 1error: calibration: batch 1: input \"x\" has the shape 2x3, in the "
                           "first batch 2x2; TensorRT calibrates in one shape");
  EngineCalibration calibration = feed_of(graph, 4, {.batch = 2});
  const char* const unknown[] = {"y"};
  EXPECT_EQ(calibration.next(unknown).error().text(),
            "calibration: batch 0: TensorRT asks for the input \"y\", which the model does not "
            "have");
  const auto none = EngineCalibration::from_data(graph, std::make_shared<Counted>(0), {.batch = 2});
  EXPECT_EQ(none.error().text(), "counted: no examples to calibrate with");
  EngineCalibration stopped =
      feed_of(graph, 4, {.batch = 2, .progress = [](int64_t done, int64_t) { return done < 4; }});
  EXPECT_EQ(given(stopped), "0 1error: calibration: stopped after 4 examples");
}

TEST(EngineCalibrationData, StoresTheCacheThatItDidNotBring) {
  const Graph graph = calibrated();
  std::string stored;
  EngineCalibration calibration =
      feed_of(graph, 4, {.batch = 2, .store = [&](std::string_view text) { stored = text; }});
  calibration.store("TRT-8601-MinMaxCalibration\n");
  EXPECT_EQ(stored, "TRT-8601-MinMaxCalibration\n");
  EngineCalibration cached = EngineCalibration::from_cache("TRT-8601-MinMaxCalibration\nx: 3c00\n");
  EXPECT_EQ(cached.cache(), "TRT-8601-MinMaxCalibration\nx: 3c00\n");
  cached.store("other");
  EXPECT_EQ(cached.cache(), "TRT-8601-MinMaxCalibration\nx: 3c00\n");
  EXPECT_TRUE(cached.shapes().empty());
  EXPECT_NE(given(cached).find("TensorRT does not take the calibration cache"), std::string::npos);
}

TEST(CalibrationCache, IsHeadedForItsReader) {
  using enum EngineCalibrator;
  EXPECT_EQ(cache_heading("8.6.1", kEntropy).value(), "TRT-8601-EntropyCalibration2");
  EXPECT_EQ(cache_heading("9.3.0", kMinMax).value(), "TRT-9300-MinMaxCalibration");
  EXPECT_EQ(cache_heading("10.0.1", kMinMax).value(), "TRT-100001-MinMaxCalibration");
  EXPECT_EQ(cache_heading("10.16.0", kEntropy).value(), "TRT-101600-EntropyCalibration2");
  for (const std::string_view version : {"", "10", "10.1", "10.1.x", "10.1.0.5", "-1.0.0", "a.b.c"})
    EXPECT_FALSE(cache_heading(version, kEntropy).ok()) << version;
  for (const EngineCalibrator calibrator : {kEntropy, kMinMax})
    EXPECT_EQ(calibrator_of_cache(cache_heading("10.1.0", calibrator).value() + "\nx: 3f800000\n")
                  .value(),
              calibrator);
}

TEST(CalibrationCache, KeepsItsRangesUnderAnotherHeading) {
  const std::vector<TensorRange> ranges = {{"x", {-1, 2}}, {"s", {0, 3}}, {"other: y", {0, 1}}};
  const std::string text = format_ranges(ranges, RangeFormat::kTensorRt).value();
  const auto tensors = calibrated_tensors(calibrated()).value();
  EXPECT_EQ(tensors, (std::vector<std::string>{"x", "state", "s", "r"}));
  const ReadyCache ready = ready_cache(text, EngineCalibrator::kEntropy, "10.1.0", tensors).value();
  EXPECT_EQ(ready.text.substr(0, ready.text.find('\n')), "TRT-100100-EntropyCalibration2");
  EXPECT_EQ(parse_ranges(ready.text, RangeFormat::kTensorRt).value(),
            parse_ranges(text, RangeFormat::kTensorRt).value());
  EXPECT_EQ(ready.heading, "TRT-8601-EntropyCalibration2");
  EXPECT_EQ(ready.known, 2);
  EXPECT_EQ(ready.missing, (std::vector<std::string>{"state", "r"}));
}

TEST(CalibrationCache, OfAnotherKindOrModelIsRefused) {
  const auto refused = [](std::string_view text, EngineCalibrator calibrator) {
    const auto ready = ready_cache(text, calibrator, "10.1.0", {"x"});
    return ready.ok() ? std::string("accepted") : ready.error().text();
  };
  using enum EngineCalibrator;
  EXPECT_NE(refused("TRT-8601-EntropyCalibration2\nx: 3f800000\n", kMinMax)
                .find("of the calibrator entropy, and minmax is asked for"),
            std::string::npos);
  EXPECT_NE(refused("TRT-8601-EntropyCalibration2\ny: 3f800000\n", kEntropy)
                .find("of its 1 tensors the model has none"),
            std::string::npos);
  EXPECT_NE(refused("TRT-8601-LegacyCalibration\nx: 3f800000\n", kEntropy)
                .find("of a calibrator that octet does not use"),
            std::string::npos);
  EXPECT_NE(refused("TRT-8601-EntropyCalibration2\nx: 7f800000\n", kEntropy).find("line 2"),
            std::string::npos);
  for (const std::string_view text : {"", "{}", "x 1.5\n", "TRT-", "TRT-8601", "\n"})
    EXPECT_NE(refused(text, kEntropy).find("is no heading of a calibration cache"),
              std::string::npos)
        << text;
}

} // namespace
} // namespace octet
