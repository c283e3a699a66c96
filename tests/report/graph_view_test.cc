// SPDX-License-Identifier: Apache-2.0
// What a viewer is told of a model, against numbers worked out by hand; the drawing is read by
// Graphviz' own grammar as far as quoting goes.
#include <algorithm>

#include "report/graph_view.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "octet/graph_text.h"

namespace octet {
namespace {

Graph model() {
  return parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\n"
                     "const s: f32[] = [0.5]\nconst z: i8[] = [3]\n"
                     "const ws: f32[3] = [0.25, 1, 0.5]\nconst wz: i8[3] = [0, 0, 0]\n"
                     "const w: i8[4, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n"
                     "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                     "wd = DequantizeLinear(w, ws, wz) {axis=1}\ny = MatMul(d, wd)\n"
                     "output y: f32[2, 3]\n")
      .value();
}

template <class List>
const auto& named(const List& list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.name == name; });
  EXPECT_NE(found, list.end()) << name;
  return *found;
}

TEST(GraphView, HoldsShapesRangesSizesAndWork) {
  const GraphView view = view_graph(model()).value();
  ASSERT_EQ(view.nodes.size(), 4U);
  EXPECT_EQ(named(view.values, "x").kind, "input");
  EXPECT_EQ(named(view.values, "y").kind, "output");
  EXPECT_EQ(named(view.values, "y").type, "f32[2, 3]");
  EXPECT_EQ(named(view.values, "w").bytes, 12);
  // (-128 - 3) / 2 and (127 - 3) / 2
  ASSERT_TRUE(named(view.values, "q").range.has_value());
  EXPECT_EQ(*named(view.values, "q").range, (std::pair<double, double>(-65.5, 62)));
  EXPECT_EQ(*named(view.values, "d").range, (std::pair<double, double>(-65.5, 62)));
  EXPECT_EQ(*named(view.values, "wd").range, (std::pair<double, double>(-128, 127)));
  EXPECT_EQ(*named(view.values, "wd").scales, (std::pair<double, double>(0.25, 1)));
  EXPECT_FALSE(named(view.values, "y").range.has_value());
  EXPECT_EQ(named(view.nodes, "wd").bytes, 12 + 3 * 4 + 3);
  EXPECT_EQ(named(view.nodes, "y").work, 2 * 4 * 3);
  EXPECT_FALSE(named(view.nodes, "y").layer.has_value());
}

TEST(GraphView, WithATargetHoldsPrecisionAndFindings) {
  const GraphView view = view_graph(model(), "tensorrt-10").value();
  ASSERT_TRUE(named(view.nodes, "y").layer.has_value());
  EXPECT_EQ(named(view.nodes, "y").layer->precision,
            LayerPrecision::kRefused); // for its input's zero point
  ASSERT_FALSE(named(view.nodes, "q").findings.empty());
  EXPECT_EQ(named(view.nodes, "q").findings[0].rule, "zero-point-not-zero");
  EXPECT_FALSE(view_graph(model(), "tensorrt-1").ok());
  const nlohmann::ordered_json json = graph_json(view);
  EXPECT_EQ(json["target"], "tensorrt-10");
  EXPECT_EQ(json["nodes"].size(), 4U);
  EXPECT_EQ(json["nodes"][3]["precision"], "refused");
  EXPECT_FALSE(json["nodes"][0].contains("precision")); // a Q
  EXPECT_EQ(json["nodes"][0]["findings"][0]["severity"], "error");
}

TEST(GraphView, DrawsEveryNodeAndEdgeWithNamesQuoted) {
  Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[2]\na = Abs(x)\nb = Neg(a)\n"
                            "c = Add(a, b)\noutput c: f32[2]\n")
                    .value();
  graph.mutable_node(graph.nodes()[0]).name = "a \"quoted\\name\"\n";
  const std::string dot = view_dot(view_graph(graph).value());
  EXPECT_NE(dot.find("Abs\\na \\\"quoted\\\\name\\\"\""), std::string::npos) << dot;
  size_t edges = 0;
  for (size_t at = dot.find(" -> "); at != std::string::npos; at = dot.find(" -> ", at + 1))
    ++edges;
  EXPECT_EQ(edges, 5U); // x-a, a-b, a-c, b-c, c-output
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

} // namespace
} // namespace octet
