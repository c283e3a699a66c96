// SPDX-License-Identifier: Apache-2.0
// Models of which nothing becomes 8 bits, and such as are in 8 bits already: an error with each
// layer's reason, and what is there stays as it is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/target.h"

namespace octet {
namespace {

constexpr const char* kProducts = R"(graph g opset(""=17)
input x: f32[2, 4]
const w: f32[4, 4] = [1, -2, 3, 4, -5, 6, 7, -8, 9, 10, -11, 12, 13, -14, 15, -16]
h = MatMul(x, w) "first"
r = Relu(h) "clamp"
y = MatMul(r, w) "second"
output y: f32[2, 4]
)";
constexpr const char* kBranches = R"(graph g opset(""=17)
input x: f32[2, 4]
input c: bool[]
y = If(c) {then_branch={ graph t
  capture x: f32[2, 4]
  const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
  a = MatMul(x, w)
  output a: f32[2, 4]
}, else_branch={ graph e
  capture x: f32[2, 4]
  b = Relu(x)
  output b: f32[2, 4]
}} "branch"
output y: f32[2, 4]
)";
constexpr const char* kShapes = R"(graph g opset(""=17)
input x: f32[2, 4]
r = Relu(x) "clamp"
y = Transpose(r) {perm=[1, 0]} "turn"
output y: f32[4, 2]
)";

std::vector<Tensor> values(const Graph& graph, uint32_t seed) {
  std::vector<Tensor> out = {test::random_tensor({2, 4}, seed)};
  if (graph.inputs().size() > 1) out.push_back(Tensor::scalar(true));
  return out;
}

CalibrationSource data_for(const Graph& graph) {
  auto done = std::make_shared<int>(0);
  std::vector<Tensor> batch = values(graph, 1);
  return [done, batch]() -> Result<std::optional<std::vector<Tensor>>> {
    if ((*done)++ > 0) return std::optional<std::vector<Tensor>>();
    return std::optional(batch);
  };
}

Result<Graph> made(const Graph& graph, const QuantizeOptions& options) {
  return quantize(graph, OCTET_TRY(plan_quantization(graph, data_for(graph), options)));
}

struct Case {
  const char* text;
  QuantMode mode;
  std::vector<std::string> targets, names;
};

/// Rows of a table added to x, and two products; minus infinity in the table or in a weight.
Graph with_infinity(bool in_table, bool in_weight) {
  Graph g = parse_graph(R"(graph g opset(""=17)
input x: f32[2, 4]
input i: i64[2]
const t: f32[3, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const w: f32[4, 4] = [1, -2, 3, 4, -5, 6, 7, -8, 9, 10, -11, 12, 13, -14, 15, -16]
const v: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
rows = Gather(t, i) "rows"
sum = Add(x, rows) "sum"
h = MatMul(sum, w) "first"
r = Relu(h) "clamp"
y = MatMul(r, v) "second"
output y: f32[2, 4]
)")
                .value();
  const auto put = [&](const char* name) {
    const ValueId id = *g.find_value(name);
    Tensor changed = g.constant(id)->clone();
    changed.mutable_data<float>()[2] = -std::numeric_limits<float>::infinity();
    g.set_constant(id, std::move(changed));
  };
  if (in_table) put("t");
  if (in_weight) put("w");
  return g;
}

TEST(Infinities, LeaveTheLayerThatReadsThemInFloat) {
  for (const QuantMode mode : {QuantMode::kStatic, QuantMode::kDynamic, QuantMode::kWeightOnly})
    for (const auto& [in_table, in_weight] : {std::pair(true, false), std::pair(false, true)}) {
      const Graph graph = with_infinity(in_table, in_weight);
      const auto source = [&] {
        auto done = std::make_shared<int>(0);
        return [done]() -> Result<std::optional<std::vector<Tensor>>> {
          if ((*done)++ > 3) return std::optional<std::vector<Tensor>>();
          return std::optional(std::vector<Tensor>{test::random_tensor({2, 4}, 1),
                                                   Tensor::of<int64_t>({2}, {1, 2})});
        };
      };
      const QuantizationPlan plan =
          plan_quantization(graph, source(),
                            {.mode = mode, .calibrator = Auto{}, .embeddings = true})
              .value();
      const NodePlan& layer = *plan.node(in_table ? "rows" : "first");
      EXPECT_FALSE(layer.quantized) << name(mode);
      EXPECT_EQ(layer.rule, Placed::kWeightNotF32) << name(mode);
      EXPECT_NE(layer.why.find("an infinity"), std::string::npos) << layer.why;
      EXPECT_TRUE(plan.node("second")->quantized) << name(mode);
      EXPECT_EQ(plan.node(in_table ? "first" : "rows")->quantized, true) << name(mode);
      const Graph quantized = quantize(graph, plan).value();
      const std::vector<Tensor> inputs = {test::random_tensor({2, 4}, 9),
                                          Tensor::of<int64_t>({2}, {2, 1})};
      const auto run = [&](const Graph& g) {
        return make_reference_executor(g).value()->run(inputs).value()[0].to_floats().value();
      };
      const std::vector<float> want = run(graph), got = run(quantized);
      for (size_t k = 0; k < want.size(); ++k) {
        EXPECT_EQ(std::isfinite(got[k]), std::isfinite(want[k])) << name(mode) << " " << k;
        if (std::isfinite(want[k])) {
          EXPECT_NEAR(got[k], want[k], 0.05 * std::abs(want[k]) + 8);
        }
      }
    }
}

TEST(NothingToQuantize, IsAnErrorThatNamesEachLayer) {
  const std::vector<std::string> all = {
      "octet",        "onnxruntime", "onnxruntime-1.15", "onnxruntime-cuda",
      "tensorrt-8.6", "tensorrt-11"};
  const std::vector<std::string> dynamic = {"octet", "onnxruntime", "onnxruntime-cuda"};
  for (const Case& c :
       {Case{kProducts, QuantMode::kStatic, {"onnxruntime-cuda"}, {"first", "clamp", "second"}},
        Case{kBranches, QuantMode::kStatic, all, {"branch"}},
        Case{kBranches, QuantMode::kDynamic, dynamic, {"branch"}},
        Case{kBranches, QuantMode::kWeightOnly, all, {"branch"}},
        Case{kShapes, QuantMode::kStatic, all, {"clamp", "turn"}},
        Case{kShapes, QuantMode::kDynamic, dynamic, {"clamp", "turn"}},
        Case{kShapes, QuantMode::kWeightOnly, all, {"clamp", "turn"}}})
    for (const std::string& target : c.targets) {
      SCOPED_TRACE(target + " " + std::string(name(c.mode)));
      const Graph graph = parse_graph(c.text).value();
      const auto result = made(graph, {.target = target, .mode = c.mode});
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code(), ErrorCode::kRefused);
      const QuantizationPlan plan =
          plan_quantization(graph, data_for(graph), {.target = target, .mode = c.mode}).value();
      for (const std::string& name : c.names) {
        EXPECT_NE(result.error().text().find('"' + name + '"'), std::string::npos)
            << result.error().text();
        ASSERT_NE(plan.node(name), nullptr) << name;
        EXPECT_NE(result.error().text().find(plan.node(name)->why), std::string::npos);
        EXPECT_FALSE(plan.node(name)->why.empty());
      }
    }
}

TEST(NothingToQuantize, NorWhatPatternsLeaveOut) {
  const Graph graph = parse_graph(kProducts).value();
  for (const QuantMode mode : {QuantMode::kStatic, QuantMode::kDynamic, QuantMode::kWeightOnly}) {
    const auto result = made(graph, {.mode = mode, .exclude = {"MatMul"}});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().text().find("excluded by pattern"), std::string::npos);
  }
}

TEST(InCodesAlready, NothingIsQuantizedTwice) {
  const Graph graph = parse_graph(kProducts).value();
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"}) {
    const Graph once = made(graph, {.target = target}).value();
    for (const QuantMode mode : {QuantMode::kStatic, QuantMode::kWeightOnly}) {
      SCOPED_TRACE(std::string(target) + " " + std::string(name(mode)));
      const auto plan =
          plan_quantization(once, data_for(once), {.target = target, .mode = mode}).value();
      for (const NodePlan& node : plan.nodes)
        EXPECT_FALSE(node.quantized) << node.node;
      EXPECT_TRUE(plan.tensors.empty());
      EXPECT_FALSE(made(once, {.target = target, .mode = mode}).ok());
    }
  }
}

/// Layers that were left in float can be quantized later; the others keep their codes.
TEST(InCodesAlready, TheRestCanBeQuantized) {
  const Graph graph = parse_graph(kProducts).value();
  const Tensor x = test::random_tensor({2, 4}, 9);
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"})
    for (const auto& [first, second] :
         {std::pair("first", "second"), std::pair("second", "first")}) {
      SCOPED_TRACE(std::string(target) + ": " + first + " before " + second);
      const Graph half = made(graph, {.target = target, .exclude = {second}}).value();
      const Graph both = made(half, {.target = target}).value();
      EXPECT_TRUE(accepted(check(both, target).value()));
      const std::vector<LayerForm> layers = explain(both, target).value();
      EXPECT_EQ(std::count_if(layers.begin(), layers.end(),
                              [](const LayerForm& l) { return l.op == "MatMul"; }),
                2);
      EXPECT_GE(test::sqnr(test::run_reference(graph, x), test::run_reference(both, x)), 25);
      for (const NodeId id : both.nodes()) { // no Q directly behind DQ
        const Node& node = both.node(id);
        if (!node.is("QuantizeLinear")) continue;
        const Node* before = both.producer(node.input(0));
        EXPECT_FALSE(before != nullptr && before->is("DequantizeLinear")) << node.name;
      }
    }
}

TEST(Nothing, SaysWhichInputDecidesAnIfAlone) {
  constexpr std::string_view kWay = "--drop-input c=VALUE";
  const auto said = [](const std::string& text) {
    const Graph g = parse_graph(text).value();
    const auto plan = made(g, {});
    return plan.ok() ? std::string() : plan.error().text();
  };
  const std::string one = kBranches;
  EXPECT_NE(said(one).find(kWay), std::string::npos) << said(one);
  const auto with = [&](const std::string& condition) {
    std::string text = one;
    text.replace(text.find("y = If(c)"), 9, condition + "\ny = If(d)");
    return said(text);
  };
  EXPECT_NE(with("d = Not(c)").find(kWay), std::string::npos);
  const std::string both = with("const k: f32[] = [0]\nm = ReduceMax(x) {keepdims=0}\n"
                                "p = Greater(m, k)\nd = And(c, p)");
  EXPECT_NE(both.find("bodies"), std::string::npos) << both;
  EXPECT_EQ(both.find("--drop-input"), std::string::npos) << both;
}

} // namespace
} // namespace octet
