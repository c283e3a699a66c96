// SPDX-License-Identifier: Apache-2.0
// What the operators before a value say of its numbers.
#include "ops/op.h"
#include "ops/value_range.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

/// Of the value y; x is an input between -inf and inf.
Range range_of_y(const std::string& lines) {
  const auto graph = parse_graph("graph g opset(\"\"=17, \"mine\"=1)\ninput x: f32[4]\n" + lines);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.error().text();
    return {};
  }
  return range_of(*graph, graph->find_value("y").value());
}

TEST(ValueRange, IsWhatTheLastOperatorSays) {
  EXPECT_EQ((Range{0, kEverything.hi}), range_of_y("y = Relu(x)\noutput y: f32[4]\n"));
  EXPECT_EQ((Range{0, 1}), range_of_y("y = Sigmoid(x)\noutput y: f32[4]\n"));
  EXPECT_EQ((Range{-1, 1}), range_of_y("y = Sin(x)\noutput y: f32[4]\n"));
  EXPECT_EQ(kEverything, range_of_y("y = Add(x, x)\noutput y: f32[4]\n"));
  EXPECT_EQ(kEverything, range_of_y("y = mine.Sigmoid(x)\noutput y: f32[4]\n"));
  EXPECT_EQ(kEverything, range_of(Graph{}, ValueId{}));
}

TEST(ValueRange, PassesThroughWhatMoves) {
  EXPECT_EQ((Range{-1, 1}), range_of_y("t = Tanh(x)\nr = Relu(t)\nc = Concat(t, r) {axis=0}\n"
                                       "y = Identity(c)\noutput y: f32[8]\n"));
  EXPECT_EQ((Range{0, 1}), range_of_y("t = Tanh(x)\nr = Relu(t)\nz, y = Split(r) {axis=0}\n"
                                      "output y: f32[2]\n"));
  // The mask is no element of x.
  EXPECT_EQ(kEverything, range_of_y("t = Tanh(x)\nz, y = Dropout(t)\noutput y: bool[4]\n"));
  // Nor is what a mode for training makes.
  EXPECT_EQ(kEverything, range_of_y("const ratio: f32[] = [0.5]\nconst on: bool[] = [1]\n"
                                    "t = Tanh(x)\ny = Dropout(t, ratio, on)\noutput y: f32[4]\n"));
}

TEST(ValueRange, OfClipCountsComputedBounds) {
  const std::string six = "const six: f32[] = [6]\nconst zero: f32[] = [0]\n";
  EXPECT_EQ((Range{0, 6}), range_of_y(six + "y = Clip(x, zero, six)\noutput y: f32[4]\n"));
  EXPECT_EQ((Range{kEverything.lo, 6}),
            range_of_y(six + "y = Clip(x, _, six)\noutput y: f32[4]\n"));
  // Tanh(x) may be raised to any number.
  EXPECT_EQ((Range{-1, kEverything.hi}), range_of_y("input low: f32[]\nt = Tanh(x)\n"
                                                    "y = Clip(t, low)\noutput y: f32[4]\n"));
}

TEST(ValueRange, OfDequantizeLinearIsItsGrid) {
  EXPECT_EQ((Range{-64, 191}),
            range_of_y("const s: f32[] = [1]\nconst z: u8[] = [64]\ninput q: u8[4]\n"
                       "y = DequantizeLinear(q, s, z)\noutput y: f32[4]\n"));
  EXPECT_EQ((Range{-256, 254}),
            range_of_y("const s: f32[2] = [1, 2]\nconst z: i8[2] = [0, 0]\ninput q: i8[2, 4]\n"
                       "y = DequantizeLinear(q, s, z) {axis=0}\noutput y: f32[2, 4]\n"));
  EXPECT_EQ(kEverything, range_of_y("input s: f32[]\nconst z: u8[] = [64]\ninput q: u8[4]\n"
                                    "y = DequantizeLinear(q, s, z)\noutput y: f32[4]\n"));
}

TEST(ValueRange, LooksBackAFewDozenNodes) {
  std::string lines = "t0 = Tanh(x)\n", again;
  for (int i = 1; i < 15; ++i) {
    const std::string before = "t" + std::to_string(i - 1);
    lines += "t" + std::to_string(i) + " = Identity(" + before + ")\n";
    again += (i == 1 ? "d1 = Max(x, x)\n"
                     : "d" + std::to_string(i) + " = Max(d" + std::to_string(i - 1) + ", d" +
                           std::to_string(i - 1) + ")\n");
  }
  EXPECT_EQ((Range{-1, 1}), range_of_y(lines + "y = Identity(t14)\noutput y: f32[4]\n"));
  EXPECT_EQ(kEverything,
            range_of_y(lines + "u = Identity(t14)\ny = Identity(u)\noutput y: f32[4]\n"));
  EXPECT_EQ(kEverything, range_of_y(again + "y = Identity(d14)\noutput y: f32[4]\n")); // 2^14 paths
}

} // namespace
} // namespace octet
