// SPDX-License-Identifier: Apache-2.0
// Weights of which no two products exceed int16: every pair of stored codes is looked at, in the
// order in which each operator adds up, and so is whether less would have done.
#include <cmath>

#include "quant/support.h"

#include "octet/certify.h"

namespace octet {
namespace {

constexpr double kFactorStep = 1.002;

/// Every form of a weight: a Conv with groups, a depthwise one, both Gemms, a MatMul.
Graph network_of_products() {
  return test::with_weights("graph g opset(\"\"=17)\ninput x: f32[2, 4, 6, 6]\n"
                            "const a: f32[6, 2, 3, 3] = ?\nconst b: f32[6, 1, 3, 3] = ?\n"
                            "const c: f32[24, 10] = ?\nconst d: f32[12, 10] = ?\n"
                            "const e: f32[12, 7] = ?\n"
                            "v = Conv(x, a) {group=2} \"grouped\"\nr = Relu(v)\n"
                            "w = Conv(r, b) {group=6} \"depthwise\"\nf = Flatten(w)\n"
                            "g = Gemm(f, c) {} \"gemm\"\nh = Gemm(g, d) {transB=1} \"turned\"\n"
                            "y = MatMul(h, e) {} \"matmul\"\noutput y: f32[2, 7]\n");
}

/// Weights of one output channel in the order of the sum.
std::vector<double> channel(const Tensor& w, const std::string& name, int64_t o) {
  std::vector<double> out;
  if (w.rank() == 4) {
    for (int64_t tap = 0; tap < w.dim(2) * w.dim(3); ++tap)
      for (int64_t c = 0; c < w.dim(1); ++c)
        out.push_back(w.at((o * w.dim(1) + c) * w.dim(2) * w.dim(3) + tap));
    return out;
  }
  const bool rows = name == "d";
  for (int64_t k = 0; k < w.dim(rows ? 1 : 0); ++k)
    out.push_back(w.at(rows ? o * w.dim(1) + k : k * w.dim(1) + o));
  return out;
}

/// Of uint8 codes up to 255, 128 steps of both weights are 32640 and 129 are 32895.
bool exceeds(const std::vector<double>& codes) {
  for (size_t k = 0; k + 1 < codes.size(); k += 2) {
    const double a = codes[k], b = codes[k + 1];
    if (std::fmax(a, 0) + std::fmax(b, 0) > 128 || std::fmin(a, 0) + std::fmin(b, 0) < -128)
      return true;
  }
  return false;
}

QuantizationPlan reduced_plan(const Graph& graph, QuantizeOptions options, bool reduce) {
  options.reduce_range = reduce;
  auto plan = plan_quantization(graph, test::random_source({2, 4, 6, 6}, 4), options);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  return plan.value();
}

int64_t channels_of(const Tensor& w, const std::string& name) {
  return w.rank() == 4 || name == "d" ? w.dim(0) : w.dim(1);
}

TEST(ReducedRange, NoPairExceedsInt16AndLessWouldNotDo) {
  const Graph graph = network_of_products();
  for (const char* target : {"onnxruntime", "octet", "tensorrt-10"}) {
    SCOPED_TRACE(target);
    const QuantizationPlan plain = reduced_plan(graph, {.target = target}, false),
                           reduced = reduced_plan(graph, {.target = target}, true);
    int wider = 0, same = 0;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      SCOPED_TRACE(name);
      const Tensor& w = *graph.constant(*graph.find_value(name));
      const TensorPlan &before = *plain.tensor(name), &after = *reduced.tensor(name);
      ASSERT_EQ(before.ranges.size(), after.ranges.size());
      EXPECT_EQ(after.note.empty(), before.ranges == after.ranges);
      for (int64_t o = 0; o < channels_of(w, name); ++o) {
        const auto at = static_cast<size_t>(o);
        const auto codes = [&](const Range& range) {
          std::vector<double> out = channel(w, name, o);
          const float scale =
              static_cast<float>(std::fmax(std::fabs(range.lo), std::fabs(range.hi)) / 127);
          for (double& v : out)
            v = std::nearbyint(static_cast<float>(v) / scale);
          return out;
        };
        EXPECT_FALSE(exceeds(codes(after.ranges[at]))) << "channel " << o;
        if (before.ranges[at] == after.ranges[at]) {
          ++same;
          EXPECT_FALSE(exceeds(codes(before.ranges[at])));
          continue;
        }
        ++wider;
        const double less = 1 / (kFactorStep * kFactorStep);
        EXPECT_TRUE(exceeds(codes({after.ranges[at].lo * less, after.ranges[at].hi * less})))
            << "channel " << o;
      }
    }
    EXPECT_GT(wider, 5);
    EXPECT_GT(same, 0);
  }
}

TEST(ReducedRange, FilesAreCertified) {
  const Graph graph = network_of_products();
  for (const char* target : {"onnxruntime", "tensorrt-10"})
    for (const bool per_channel : {true, false})
      for (const Calibrator& weights : {Calibrator{MinMax{}}, Calibrator{Mse{}}})
        for (const QuantMode mode : {QuantMode::kStatic, QuantMode::kDynamic}) {
          if (mode == QuantMode::kDynamic && std::string_view(target) != "onnxruntime") continue;
          QuantizeOptions options{.target = target, .mode = mode, .weight_calibrator = weights};
          options.per_channel = per_channel;
          const auto safe = [&](bool reduce) {
            const Graph made = quantize(graph, reduced_plan(graph, options, reduce)).value();
            const Certification all = Certification::create(made).value();
            EXPECT_GE(all.layers().size(), 3U);
            return all.safe();
          };
          EXPECT_TRUE(safe(true)) << target << per_channel << name(mode);
          EXPECT_FALSE(safe(false)) << target << per_channel << name(mode);
        }
}

// What is clipped keeps its code however wide the range becomes, so that its neighbour has to go.
TEST(ReducedRange, ClippedWeightsAreNoExcuse) {
  Graph graph = network_of_products();
  const ValueId c = *graph.find_value("c");
  std::vector<float> values = graph.constant(c)->to_floats().value();
  for (size_t i = 0; i < 4; ++i)
    values[i * 37] = 1e30F;
  graph.set_constant(c, Tensor::of<float>({24, 10}, std::span<const float>(values)));
  const QuantizeOptions options{.target = "onnxruntime", .weight_calibrator = Percentile{80}};
  const Graph made = quantize(graph, reduced_plan(graph, options, true)).value();
  EXPECT_TRUE(Certification::create(made).value().safe());
}

TEST(ReducedRange, LeavesOtherFormatsAlone) {
  const Graph graph = network_of_products();
  for (const DType type : {DType::kInt4, DType::kFloat8E4M3FN}) {
    QuantizeOptions options;
    options.weights = NumberFormat{type};
    const QuantizationPlan plain = reduced_plan(graph, options, false);
    for (const TensorPlan& tensor : reduced_plan(graph, options, true).tensors)
      EXPECT_EQ(tensor.ranges, plain.tensor(tensor.value)->ranges) << tensor.value;
  }
  const auto refused = plan_quantization(graph, CalibrationSource{},
                                         {.mode = QuantMode::kWeightOnly, .reduce_range = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("the weight-only mode has none"), std::string::npos);
}

} // namespace
} // namespace octet
