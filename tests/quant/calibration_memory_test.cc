// SPDX-License-Identifier: Apache-2.0
// Calibration and debug look at one value at a time: what is held does not grow with the number of
// values, and who stops does not wait for the batch.
#include "quant/calibrate.h"
#include "quant/debug.h"
#include "quant/support.h"
#include "support/memory.h"
#include <gtest/gtest.h>

#include "octet/session.h"

namespace octet {
namespace {

using test::random_source;
using test::random_tensor;

constexpr int kLayers = 40;
constexpr int64_t kRows = 256, kColumns = 256;
constexpr int64_t kValueBytes = kRows * kColumns * 4;

/// x ─ Tanh ─ MatMul ─ ..., each value of one size.
Graph float_chain() {
  Graph g;
  g.opsets[""] = 17;
  ValueId x =
      g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), Dim(kColumns)}, {}});
  const ValueId w = g.add_constant("w", random_tensor({kColumns, kColumns}, 1, -0.1F, 0.1F));
  for (int i = 0; i < kLayers / 2; ++i)
    x = g.emit("MatMul", {g.emit("Tanh", {x}, {}), w}, {});
  g.mark_output(x);
  return g;
}

std::vector<ObserveRequest> all_values(const Graph& graph) {
  std::vector<ObserveRequest> out;
  for (const NodeId id : graph.nodes())
    out.push_back({graph.node(id).outputs[0], Scheme{}});
  return out;
}

/// Another executor, seen from outside: live memory and calls while values are handed over.
struct Seen {
  int64_t before = 0, most = 0;
  int calls = 0;
};
class Watched final : public Executor {
 public:
  Watched(std::unique_ptr<Executor> inner, Seen& seen) : inner_(std::move(inner)), seen_(seen) {}
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    return inner_->run(inputs);
  }
  Status stream(std::span<const Tensor> inputs, const OutputTap& tap) override {
    seen_.before = test::live_bytes();
    return inner_->stream(inputs, [&](size_t output, const Tensor& value) {
      ++seen_.calls;
      Status taken = tap(output, value);
      seen_.most = std::max(seen_.most, test::live_bytes() - seen_.before);
      return taken;
    });
  }

 private:
  std::unique_ptr<Executor> inner_;
  Seen& seen_;
};

using Make = Result<std::unique_ptr<Executor>> (*)(const Graph&);
Result<std::unique_ptr<Executor>> native(const Graph& graph) {
  return make_native_executor(graph, {.threads = 2});
}
constexpr Make kExecutors[] = {make_reference_executor, native};

ExecutorFactory watched(Make make, Seen& seen) {
  return [make, &seen](const Graph& graph) -> Result<std::unique_ptr<Executor>> {
    return std::unique_ptr<Executor>(std::make_unique<Watched>(OCTET_TRY(make(graph)), seen));
  };
}

TEST(CalibrationMemory, OneValueIsHeldAtATime) {
  const Graph graph = float_chain();
  for (const Make make : kExecutors)
    for (const char* calibrator : {"min-max", "entropy"}) {
      Seen seen;
      QuantizeOptions options;
      options.executor = watched(make, seen);
      options.calibrator = parse_calibrator(calibrator).value();
      const auto out =
          calibrate(graph, all_values(graph), random_source({kRows, kColumns}, 2), options, 0);
      ASSERT_TRUE(out.ok()) << out.error().text();
      EXPECT_EQ(out->values.size(), static_cast<size_t>(kLayers));
      EXPECT_EQ(seen.calls, 2 * kLayers);
      // Histograms are allowed for; the arena of the native executor comes with its first run.
      const auto histograms = static_cast<int64_t>(kLayers * Observer::kMaxBytesPerChannel);
      EXPECT_LE(seen.most, 6 * kValueBytes + histograms) << calibrator;
    }
}

TEST(CalibrationMemory, RangesAreThoseOfWhatTheReferenceKeeps) {
  const Graph graph = float_chain();
  Graph tapped = graph;
  std::vector<ValueId> outputs;
  for (const ObserveRequest& request : all_values(graph))
    outputs.push_back(request.value);
  tapped.set_outputs(outputs);
  const auto x = random_source({kRows, kColumns}, 1)().value();
  const auto kept = make_reference_executor(tapped).value()->run(*x).value();
  QuantizeOptions options;
  const auto out =
      calibrate(graph, all_values(graph), random_source({kRows, kColumns}, 1), options, 0).value();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto floats = kept[i].data<float>();
    const auto [lo, hi] = std::minmax_element(floats.begin(), floats.end());
    EXPECT_EQ(out.values.at(outputs[i]).range, (Range{*lo, *hi})) << "value " << i;
  }
}

TEST(CalibrationMemory, WhoStopsDoesNotWaitForTheBatch) {
  const Graph graph = float_chain();
  for (const Make make : kExecutors) {
    Seen seen;
    QuantizeOptions options;
    options.executor = watched(make, seen);
    int asked = 0;
    options.progress = [&](int64_t done, int64_t) {
      EXPECT_EQ(done, 0) << "the first batch is not done";
      return ++asked < 3;
    };
    const auto out =
        calibrate(graph, all_values(graph), random_source({kRows, kColumns}, 2), options, 0);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(seen.calls, 3);
  }
}

/// x ─ Q ─ DQ ─ MatMul(weights behind DQ) ─ Q ─ DQ ─ ...
Graph quantized_chain() {
  const Graph graph = float_chain();
  QuantizeOptions options;
  options.target = "onnxruntime";
  return quantize(graph, plan_quantization(graph, random_source({8, kColumns}, 2), options).value())
      .value();
}

TEST(DebugMemory, ReadingsGoWithTheirLastUse) {
  const Graph graph = quantized_chain();
  Seen seen;
  LoweringComparison comparison =
      LoweringComparison::create(graph, watched([](const Graph& g) { return native(g); }, seen))
          .value();
  const std::vector<Tensor> x = {random_tensor({kRows, kColumns}, 3)};
  ASSERT_TRUE(comparison.add(x).ok());
  EXPECT_GE(seen.calls, kLayers / 2);
  EXPECT_EQ(comparison.unexplained(), 0);
  // A reading is four numbers an element, three of them doubles; a product has three at hand.
  EXPECT_LE(seen.most, 30 * kValueBytes);
}

TEST(DebugMemory, StopsBetweenNodes) {
  CancelToken token;
  token.cancel();
  LoweringComparison comparison = LoweringComparison::create(quantized_chain()).value();
  const Status stopped =
      comparison.add(std::vector<Tensor>{random_tensor({2, kColumns}, 3)}, &token);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
}

} // namespace
} // namespace octet
