// SPDX-License-Identifier: Apache-2.0
// Models of which nothing becomes 8 bits, and such as are in 8 bits already: an error with each
// layer's reason, and what is there stays as it is.
#include <algorithm>

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

} // namespace
} // namespace octet
