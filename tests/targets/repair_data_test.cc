// SPDX-License-Identifier: Apache-2.0
// repair with data: files that hold operators which octet has no definition of (an error before any
// data is asked for, unless repair itself replaces them), and what of the data counts.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "passes/standardize/standard_operators.h"
#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/repair.h"

namespace octet {
namespace {

std::string with(const std::string& lines) {
  return R"(graph g opset(""=17, "com.microsoft"=1, "shop"=1)
input x: f32[2, 4]
const s: f32[] = [0.1]
const z: u8[] = [100]
const yes: bool[] = [1]
q = QuantizeLinear(x, s, z)
d = DequantizeLinear(q, s, z)
)" + lines +
         "output y: f32[2, 4]\n";
}

/// The error of repair with data that must not be asked for.
std::string refusal(const std::string& text, const char* target) {
  const Graph graph = parse_graph(text).value();
  RepairOptions options;
  options.data = []() -> CalibrationSource {
    ADD_FAILURE() << "the data was asked for";
    return [] { return Result<std::optional<std::vector<Tensor>>>(Error("no data")); };
  };
  EXPECT_TRUE(repair(graph, target).ok()) << "without data nothing is run";
  const Result<Repaired> repaired = repair(graph, target, options);
  return repaired.ok() ? "" : repaired.error().text();
}

TEST(RepairData, NamesWhatOctetCannotRunBeforeItAsksForData) {
  const std::string text = refusal(with("y = shop.Scan(d) \"till\"\n"), "tensorrt-10");
  EXPECT_NE(text.find("shop.Scan \"till\""), std::string::npos) << text;
  EXPECT_NE(text.find("repair without data"), std::string::npos) << text;
  EXPECT_EQ(text.find("octet simplify"), std::string::npos) << text; // it has nothing for it
}

TEST(RepairData, LooksIntoBodies) {
  const std::string text = refusal(with(R"(y = If(yes) {then_branch={ graph a
  capture d: f32[2, 4]
  const on: bool[] = [1]
  t = If(on) {then_branch={ graph c
    capture d: f32[2, 4]
    v = shop.Scan(d) "till"
    output v: f32[2, 4]
  }, else_branch={ graph f
    capture d: f32[2, 4]
    w = Relu(d)
    output w: f32[2, 4]
  }} "inner"
  output t: f32[2, 4]
}, else_branch={ graph e
  capture d: f32[2, 4]
  u = Relu(d)
  output u: f32[2, 4]
}} "choice"
)"),
                                   "onnxruntime");
  EXPECT_NE(text.find("shop.Scan \"choice/then_branch/inner/then_branch/till\""), std::string::npos)
      << text;
}

TEST(RepairData, SaysWhereOperatorsOfOnnxRuntimeAreWritten) {
  const std::string text = refusal(with("y = com.microsoft.CDist(d, x) \"norm\"\n"), "onnxruntime");
  EXPECT_NE(text.find("com.microsoft.CDist \"norm\""), std::string::npos) << text;
  EXPECT_NE(text.find("octet simplify --standard-operators"), std::string::npos) << text;
}

/// Rows of two, the second of which is padding with a value that would widen the range.
TEST(RepairData, RangesDoNotCountPadding) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[1, 2, 1]
input mask: i64[1, 2]
q, s, z = DynamicQuantizeLinear(x)
d = DequantizeLinear(q, s, z)
m = Cast(mask) {to=1}
const last: i64[1] = [2]
u = Unsqueeze(m, last)
y = Mul(d, u)
output y: f32[1, 2, 1]
)")
                          .value();
  const auto scale = [&](const char* mask) {
    RepairOptions options;
    options.mask_input = mask;
    options.data = [] {
      return [given = false]() mutable -> Result<std::optional<std::vector<Tensor>>> {
        if (std::exchange(given, true)) return std::optional<std::vector<Tensor>>();
        return std::optional(std::vector{Tensor::of<float>({1, 2, 1}, {12.7F, 1270.0F}),
                                         Tensor::of<int64_t>({1, 2}, {1, 0})});
      };
    };
    const Repaired repaired = repair(graph, "tensorrt-10", options).value();
    for (const NodeId id : repaired.graph.nodes())
      if (repaired.graph.node(id).is("QuantizeLinear"))
        return repaired.graph.constant(repaired.graph.node(id).input(1))->at(0);
    return 0.0;
  };
  EXPECT_NEAR(scale(""), 1270.0 / 255, 1e-5);
  EXPECT_NEAR(scale("mask"), 12.7 / 255, 1e-7);
}

constexpr const char* kEmbedding = R"(graph g opset(""=14, "com.microsoft"=1)
input ids: i32[2, 3]
input kinds: i32[2, 3]
const word: u8[2, 4] = [0, 30, 60, 90, 1, 31, 61, 91]
const position: u8[5, 4] = [32, 40, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 63, 64, 65, 66, 67, 68]
const segment: u8[2, 4] = [1, 2, 3, 4, 50, 6, 70, 8]
const gain: u8[4] = [60, 62, 64, 66]
const beta: u8[4] = [33, 34, 35, 36]
const s: f32[] = [0.03125]
const z: u8[] = [32]
e = com.microsoft.QEmbedLayerNormalization(ids, kinds, word, position, segment, gain, beta, _, s, s, s, s, s, z, z, z, z, z) "embedding"
const t: f32[] = [0.05]
const m: u8[] = [117]
q = QuantizeLinear(e, t, m)
y = DequantizeLinear(q, t, m)
output y: f32[2, 3, 4]
)";

/// TensorRT takes no com.microsoft: repair writes the embedding in standard operators, and so runs
/// the file as it came.
TEST(RepairData, RunsTheFileAsItCameWithWhatRepairReplaces) {
  const Graph graph = parse_graph(kEmbedding).value();
  const std::vector<Tensor> inputs = {Tensor::of<int32_t>({2, 3}, {0, 1, 1, 0, 0, 1}),
                                      Tensor::of<int32_t>({2, 3}, {0, 0, 1, 1, 1, 0})};
  RepairOptions options;
  options.data = [&] {
    auto done = std::make_shared<bool>(false);
    return [done, inputs]() -> Result<std::optional<std::vector<Tensor>>> {
      if (std::exchange(*done, true)) return std::optional<std::vector<Tensor>>();
      return std::optional(inputs);
    };
  };
  const Result<Repaired> repaired = repair(graph, "tensorrt-10", options);
  ASSERT_TRUE(repaired.ok()) << repaired.error().text();
  EXPECT_TRUE(accepted(repaired->left));

  Graph standard = graph;
  ASSERT_TRUE(rewrite(standard, standard_operator_rules()).ok());
  const auto run = [&](const Graph& g) {
    return make_reference_executor(g).value()->run(inputs).value().at(0);
  };
  const Tensor was = run(standard), is = run(repaired->graph);
  double worst = 0;
  for (int64_t i = 0; i < was.count(); ++i)
    worst = std::max(worst, std::abs(was.at(i) - is.at(i)));
  ASSERT_EQ(repaired->outputs.size(), 1U);
  EXPECT_EQ(repaired->outputs[0].output, "y");
  EXPECT_NEAR(repaired->outputs[0].max_error, worst, 1e-6);
  EXPECT_LE(worst, 0.0501); // the one step of an activation with a zero point
}

} // namespace
} // namespace octet
