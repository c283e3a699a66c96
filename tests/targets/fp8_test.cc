// SPDX-License-Identifier: Apache-2.0
// FP8 and 4-bit codes for TensorRT: which versions take them (the parser's branches 8.6-GA, 9.0-GA
// and 10.0-GA of onnx/onnx-tensorrt), and what explain says that their layers run in.
#include <algorithm>
#include <string>

#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/target.h"

namespace octet {
namespace {

/// A product whose input and weight come in these codes; "": in float.
Graph coded_product(const std::string& input, const std::string& weight, int opset = 23) {
  std::string text = "graph g opset(\"\"=" + std::to_string(opset) +
                     ")\ninput x: f32[2, 4]\n"
                     "const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]\n"
                     "const s: f32[] = [0.5]\n";
  const auto coded = [&](const std::string& value, const std::string& type) {
    if (type.empty()) return value;
    text += "const z" + value + ": " + type + "[] = [0]\n" + value + "q = QuantizeLinear(" + value +
            ", s, z" + value + ")\n" + value + "d = DequantizeLinear(" + value + "q, s, z" + value +
            ")\n";
    return value + "d";
  };
  const std::string a = coded("x", input), b = coded("w", weight);
  text += "y = MatMul(" + a + ", " + b + ") \"product\"\noutput y: f32[2, 4]\n";
  return parse_graph(text).value();
}

LayerForm layer_in(const Graph& graph, std::string_view node, std::string_view target) {
  const std::vector<LayerForm> layers = explain(graph, target).value();
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const LayerForm& l) { return l.node == node; });
  EXPECT_NE(found, layers.end()) << node;
  return found == layers.end() ? LayerForm{} : *found;
}

TEST(Fp8, TensorRtTakesItFrom9AndInt4From10) {
  const Graph fp8 = coded_product("f8e4m3fn", "f8e4m3fn", 19), int4 = coded_product("", "i4", 21);
  for (const std::string_view target : target_names()) {
    if (!target.starts_with("tensorrt-")) continue;
    const int major = std::stoi(std::string(target.substr(9)));
    EXPECT_EQ(accepted(check(fp8, target).value()), major >= 9) << target;
    EXPECT_EQ(accepted(check(int4, target).value()), major >= 10) << target;
  }
}

TEST(Fp8, AProductRunsInTheTypeOfItsCodes) {
  using Runs = LayerPrecision;
  struct Case {
    const char *input, *weight;
    LayerPrecision precision;
  };
  for (const Case& c : {Case{"i8", "i8", Runs::kInt8}, Case{"f8e4m3fn", "f8e4m3fn", Runs::kFp8},
                        Case{"f4e2m1", "f4e2m1", Runs::kFp4}, Case{"f8e4m3fn", "i8", Runs::kFloat},
                        Case{"i8", "f8e4m3fn", Runs::kFloat}, Case{"i8", "i4", Runs::kFloat},
                        Case{"", "i4", Runs::kFloat}, Case{"", "i8", Runs::kFloat}}) {
    SCOPED_TRACE(std::string(c.input) + " x " + c.weight);
    const Graph graph = coded_product(c.input, c.weight);
    const LayerForm form = layer_in(graph, "product", "tensorrt-10");
    EXPECT_EQ(form.precision, c.precision) << form.why;
    EXPECT_FALSE(form.why.empty());
    const std::vector<LayerForm> layers = explain(graph, "tensorrt-10").value();
    for (const Runs precision : {Runs::kInt8, Runs::kFp8, Runs::kFp4})
      EXPECT_EQ(share_in(layers, precision), c.precision == precision ? 1 : 0) << name(precision);
  }
}

/// A mend names the values that lack Q/DQ, and no others.
TEST(Fp8, WhatWantsCodesIsListed) {
  const Graph graph = coded_product("", "i8");
  EXPECT_EQ(layer_in(graph, "product", "tensorrt-10").wants_codes, std::vector<std::string>{"x"});
  EXPECT_TRUE(explain_tensor(graph, "x", "tensorrt-10").value().matters);
  EXPECT_TRUE(layer_in(coded_product("", "i4"), "product", "tensorrt-10").wants_codes.empty());
  EXPECT_TRUE(
      layer_in(coded_product("f8e4m3fn", "i8"), "product", "tensorrt-10").wants_codes.empty());
}

TEST(Fp8, LayersBetweenCodesToo) {
  for (const auto& [behind, precision] :
       {std::pair("f8e4m3fn", LayerPrecision::kFp8), std::pair("i8", LayerPrecision::kFloat)}) {
    const Graph graph =
        parse_graph("graph g opset(\"\"=23)\ninput x: f32[1, 2, 4, 4]\nconst s: f32[] = [0.5]\n"
                    "const z: f8e4m3fn[] = [0]\nconst o: " +
                    std::string(behind) +
                    "[] = [0]\nq = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                    "p = GlobalAveragePool(d) \"pool\"\na = Add(d, d) \"sum\"\n"
                    "pq = QuantizeLinear(p, s, o)\npd = DequantizeLinear(pq, s, o)\n"
                    "aq = QuantizeLinear(a, s, o)\nad = DequantizeLinear(aq, s, o)\n"
                    "y = Mul(pd, ad)\noutput y: f32[*]\n")
            .value();
    EXPECT_EQ(layer_in(graph, "pool", "tensorrt-10").precision, precision);
    EXPECT_EQ(layer_in(graph, "sum", "tensorrt-10").precision, precision);
  }
}

/// Attention in FP8 is not bound by the sizes of the int8 kernel.
TEST(Fp8, AttentionHasItsOwnSizes) {
  const auto attention = [](const std::string& type, const std::string& last, int head) {
    const std::string dims = "[1, 2, 8, " + std::to_string(head) + "]";
    std::string text = "graph g opset(\"\"=19)\ninput q: f32" + dims + "\ninput k: f32[1, 2, " +
                       std::to_string(head) + ", 8]\ninput v: f32" + dims +
                       "\nconst s: f32[] = [0.1]\nconst z: " + type + "[] = [0]\nconst l: " + last +
                       "[] = [0]\n";
    const auto coded = [&](const std::string& x, const std::string& zero) {
      text += x + "q = QuantizeLinear(" + x + ", s, " + zero + ")\n" + x + "d = DequantizeLinear(" +
              x + "q, s, " + zero + ")\n";
    };
    coded("q", "z");
    coded("k", "z");
    coded("v", "z");
    text += "scores = MatMul(qd, kd)\np = Softmax(scores) {axis=-1}\n";
    coded("p", "z");
    text += "context = MatMul(pd, vd)\n";
    coded("context", "l");
    return parse_graph(text + "y = Abs(contextd)\noutput y: f32[*]\n").value();
  };
  const auto runs = [&](const char* type, const char* last, int head) {
    return layer_in(attention(type, last, head), "p", "tensorrt-10");
  };
  EXPECT_EQ(runs("f8e4m3fn", "f8e4m3fn", 128).precision, LayerPrecision::kFp8);
  EXPECT_EQ(runs("i8", "i8", 128).fusion, "");
  EXPECT_EQ(runs("i8", "i8", 64).precision, LayerPrecision::kInt8);
  EXPECT_EQ(runs("f8e4m3fn", "f8e4m3fn", 8).fusion, "");
  EXPECT_EQ(runs("f8e4m3fn", "i8", 64).fusion, "");
}

/// Only TensorRT 8.0 minded the axis of a node with one scale.
TEST(TensorRtAxis, AnAxisBesideOneScaleIsNoFinding) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\n"
                                  "const s: f32[] = [0.1]\nconst z: i8[] = [0]\n"
                                  "q = QuantizeLinear(x, s, z) {axis=1}\n"
                                  "y = DequantizeLinear(q, s, z) {axis=1}\noutput y: f32[2, 4]\n")
                          .value();
  for (const std::string_view target : target_names()) {
    if (!target.starts_with("tensorrt-")) continue;
    EXPECT_TRUE(check(graph, target).value().empty()) << target;
  }
}

} // namespace
} // namespace octet
