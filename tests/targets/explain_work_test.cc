// SPDX-License-Identifier: Apache-2.0
// What explain counts of layers that are integer in part: LSTM, GRU, RNN and QAttention.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/target.h"

namespace octet {
namespace {

std::string zeros(int count) {
  std::string out = "[0";
  for (int i = 1; i < count; ++i)
    out += ", 0";
  return out + "]";
}

/// A layer of one unit over 5 steps of 2 sequences of 4 numbers.
struct Layer {
  std::string op;
  int gates = 1, directions = 1;
  bool codes = true; ///< of x and W

  Graph graph() const {
    const std::string d = std::to_string(directions), rows = std::to_string(gates);
    const std::string way = directions == 2 ? "bidirectional" : "forward";
    return parse_graph("graph g opset(\"\"=17)\ninput x: f32[5, 2, 4]\nconst s: f32[] = [0.1]\n"
                       "const z: i8[] = [0]\nconst w: " +
                       std::string(codes ? "i8[" : "f32[") + d + ", " + rows +
                       ", 4] = " + zeros(directions * gates * 4) + "\nconst r: f32[" + d + ", " +
                       rows + ", 1] = " + zeros(directions * gates) +
                       "\nq = QuantizeLinear(x, s, z)\nxd = DequantizeLinear(q, s, z)\n" +
                       (codes ? "wd = DequantizeLinear(w, s, z)\n" : "wd = Identity(w)\n") +
                       "y = " + op + "(xd, wd, r) {hidden_size=1, direction=\"" + way +
                       "\"}\noutput y: f32[*]\n")
        .value();
  }
};

LayerForm layer(const std::vector<LayerForm>& layers, std::string_view node) {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const LayerForm& l) { return l.node == node; });
  EXPECT_NE(found, layers.end()) << node;
  return found == layers.end() ? LayerForm{} : *found;
}

TEST(ExplainWork, RecurrentLayersMultiplyXAndStates) {
  for (const auto& [op, gates] : {std::pair{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}})
    for (const int directions : {1, 2})
      for (const bool codes : {false, true}) {
        SCOPED_TRACE(std::string(op) + (codes ? " of codes" : ""));
        const Graph graph = Layer{op, gates, directions, codes}.graph();
        for (const char* target : {"octet", "onnxruntime", "tensorrt-10"}) {
          const std::vector<LayerForm> layers = explain(graph, target).value();
          const LayerForm form = layer(layers, "y");
          EXPECT_EQ(form.work, 5 * 2 * directions * gates * 1 * (4 + 1)) << target;
          const bool integers = codes && std::string(target) == "octet";
          EXPECT_EQ(form.precision, integers ? LayerPrecision::kInt8 : LayerPrecision::kFloat);
          EXPECT_EQ(form.float_work, integers ? 5 * 2 * directions * gates : 0) << target;
          EXPECT_NEAR(int8_share(layers), integers ? 0.8 : 0, 1e-9) << target;
          EXPECT_NEAR(share_in(layers, LayerPrecision::kFloat), integers ? 0.2 : 1, 1e-9);
        }
      }
}

TEST(ExplainWork, ALayerThatQuantizesItsStatesIsAllInInt8) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[5, 2, 4]\n"
                  "const w: i8[1, 4, 4] = " +
                  zeros(16) + "\nconst r: i8[1, 1, 4] = " + zeros(4) +
                  "\nconst s: f32[1] = [0.1]\nconst z: i8[1] = [0]\n"
                  "y = com.microsoft.DynamicQuantizeLSTM(x, w, r, _, _, _, _, _, s, z, s, z) "
                  "{hidden_size=1}\noutput y: f32[*]\n")
          .value();
  for (const char* target : {"octet", "onnxruntime"}) {
    const std::vector<LayerForm> layers = explain(graph, target).value();
    EXPECT_EQ(layer(layers, "y").work, 5 * 2 * 4 * (4 + 1)) << target;
    EXPECT_EQ(int8_share(layers), 1) << target;
  }
}

TEST(ExplainWork, OfSumsOnlyStatesAreMultiplied) {
  const Graph graph = parse_graph("graph g opset(\"\"=17, \"octet.native\"=1)\n"
                                  "input x: f32[5, 2, 4]\nconst r: f32[1, 4, 1] = [1, 2, 3, 4]\n"
                                  "y = octet.native.LSTM(x, _, r) {hidden_size=1}\n"
                                  "output y: f32[*]\n")
                          .value();
  EXPECT_EQ(layer(explain(graph, "octet").value(), "y").work, 5 * 2 * 4);
}

TEST(ExplainWork, QAttentionIsIntegerInItsProjections) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: u8[1, 3, 4]\n"
                  "const w: i8[4, 6] = " +
                  zeros(24) +
                  "\nconst b: f32[6] = [0, 0, 0, 0, 0, 0]\nconst s: f32[] = [0.1]\n"
                  "const z: i8[] = [0]\nconst u: u8[] = [0]\n"
                  "y = com.microsoft.QAttention(x, w, b, s, s, _, u, z) {num_heads=1}\n"
                  "output y: f32[*]\n")
          .value();
  const double projections = 3 * 4 * 6, around = 2 * 3 * 3 * 2;
  for (const char* target : {"octet", "onnxruntime"})
    EXPECT_NEAR(int8_share(explain(graph, target).value()), projections / (projections + around),
                1e-9)
        << target;
}

} // namespace
} // namespace octet
