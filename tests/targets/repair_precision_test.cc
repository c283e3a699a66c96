// SPDX-License-Identifier: Apache-2.0
// repair for strongly typed networks: 16 bits where they hold what the data shows, f32 with casts
// elsewhere, masks clamped; outputs stay finite and near.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/repair.h"

namespace octet {
namespace {

/// uint8 codes to repair, a mask of -3.4e38, and a square that reaches 90,000 at x = 300.
Graph model() {
  return parse_graph(R"(graph g opset(""=19)
input x: f32[2, 4]
const s: f32[] = [4]
const u: u8[] = [128]
const mask: f32[4] = [0, 0, 0, -3.4e38]
const half: f32[] = [0.5]
q = QuantizeLinear(x, s, u)
d = DequantizeLinear(q, s, u)
square = Mul(d, d) "square"
root = Sqrt(square) "root"
small = Mul(root, half) "small"
masked = Add(small, mask) "masked"
y = Softmax(masked) {axis=-1} "softmax"
output y: f32[2, 4]
)")
      .value();
}

Tensor input() {
  return Tensor::of<float>({2, 4}, {300, 290, -280, 12, 4, -8, 0, 300});
}

RepairOptions options(bool with_data) {
  RepairOptions out;
  out.precision = DType::kFloat16;
  if (with_data)
    out.data = [] {
      auto done = std::make_shared<bool>(false);
      return [done]() -> Result<std::optional<std::vector<Tensor>>> {
        if (*done) return std::optional<std::vector<Tensor>>();
        *done = true;
        return std::optional(std::vector<Tensor>{input()});
      };
    };
  return out;
}

const Change* find(const Repaired& repaired, std::string_view rule, std::string_view node) {
  for (const Change& change : repaired.changes)
    if (change.rule == rule && change.node.find(node) != std::string::npos) return &change;
  return nullptr;
}

DType type_of(const Graph& graph, std::string_view value) {
  const auto id = graph.find_value(value);
  return id ? graph.value(*id).type.type : DType::kUndefined;
}

TEST(RepairPrecision, DataKeepsWhatOverflowsInFloat) {
  const Graph before = model();
  const Repaired repaired = repair(before, "tensorrt-10", options(true)).value();
  EXPECT_TRUE(accepted(repaired.left));
  ASSERT_NE(find(repaired, "half_precision", ""), nullptr);
  EXPECT_NE(find(repaired, "symmetric_activation", ""), nullptr);
  EXPECT_NE(find(repaired, "keep_float", "square"), nullptr);
  EXPECT_NE(find(repaired, "clamp", ""), nullptr);
  const auto was =
      make_reference_executor(before).value()->run(std::vector<Tensor>{input()}).value();
  const auto is =
      make_reference_executor(repaired.graph).value()->run(std::vector<Tensor>{input()}).value();
  ASSERT_EQ(is[0].type(), DType::kFloat32);
  double worst = 0;
  for (int64_t i = 0; i < was[0].count(); ++i) {
    ASSERT_TRUE(std::isfinite(is[0].at(i)));
    worst = std::max(worst, std::abs(was[0].at(i) - is[0].at(i)));
  }
  EXPECT_LT(worst, 0.07); // half a step of f16 at 150 is 1 / 16: a factor of exp(1 / 16)
  ASSERT_EQ(repaired.outputs.size(), 1U);
  EXPECT_NEAR(repaired.outputs[0].max_error, worst, 1e-6);
}

/// No Q, nothing else to repair: the guard does not depend on it.
constexpr const char* kProducts = R"(graph g opset(""=19)
input x: f32[2, 2]
const big: f32[2, 2] = [300, 0, 0, 300]
const small: f32[2, 2] = [0.001, 0, 0, 0.001]
a = MatMul(x, big) "large"
r = Relu(a) "relu"
y = MatMul(r, small) "back"
output y: f32[2, 2]
)";

RepairOptions options_with(std::vector<Tensor> passes) {
  RepairOptions out;
  out.precision = DType::kFloat16;
  out.data = [passes, pass = size_t{0}]() mutable -> CalibrationSource {
    const Tensor x = passes[std::min(pass++, passes.size() - 1)];
    return [x, done = false]() mutable -> Result<std::optional<std::vector<Tensor>>> {
      if (std::exchange(done, true)) return std::optional<std::vector<Tensor>>();
      return std::optional(std::vector<Tensor>{x});
    };
  };
  return out;
}

TEST(RepairPrecision, GuardsAFileThatNeedsNothingElse) {
  const Tensor x = Tensor::of<float>({2, 2}, {1000, -900, 1, 2});
  const Repaired repaired =
      repair(parse_graph(kProducts).value(), "tensorrt-11", options_with({x})).value();
  EXPECT_TRUE(accepted(repaired.left));
  for (const char* node : {"large", "relu", "back"})
    EXPECT_NE(find(repaired, "keep_float", node), nullptr) << node;
  ASSERT_EQ(repaired.outputs.size(), 1U);
  EXPECT_LT(repaired.outputs[0].max_error, 0.2); // of 300
}

/// Values that the first pass over the data does not show.
TEST(RepairPrecision, WhatOverflowsAllTheSameIsRefused) {
  const Tensor near = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor far = Tensor::of<float>({2, 2}, {1000, -900, 1, 2});
  RepairOptions options = options_with({near, near, far});
  const Repaired repaired = repair(parse_graph(kProducts).value(), "tensorrt-11", options).value();
  EXPECT_FALSE(accepted(repaired.left));
  EXPECT_EQ(repaired.left.back().rule, "half-precision-overflow");
}

TEST(RepairPrecision, WithoutDataOnlyConstantsSpeak) {
  const Repaired repaired = repair(model(), "tensorrt-10", options(false)).value();
  EXPECT_TRUE(accepted(repaired.left));
  EXPECT_EQ(find(repaired, "keep_float", "square"), nullptr);
  EXPECT_NE(find(repaired, "half_precision", "")->why.find("without data"), std::string::npos);
  EXPECT_NE(find(repaired, "clamp", ""), nullptr);
  EXPECT_EQ(type_of(repaired.graph, "y"), DType::kFloat32);
}

} // namespace
} // namespace octet
