// SPDX-License-Identifier: Apache-2.0
// explain for TensorRT: attention against each condition of docs/targets.md 2.4, what would mend a
// layer, work, what changes between files, and the answer about tensors without a range.
#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/target.h"

namespace octet {
namespace {

struct AttentionCase {
  bool query = true, key = true, probabilities = true, value = true, output = true;
  int length = 8, head = 32;
  bool scale_after = false;
};

/// One head group of attention in float around `form`'s Q/DQ.
Graph attention(const AttentionCase& form) {
  const std::string dims =
      "[1, 2, " + std::to_string(form.length) + ", " + std::to_string(form.head) + "]";
  std::string text = "graph g opset(\"\"=17)\ninput q: f32" + dims + "\ninput k: f32" + dims +
                     "\ninput v: f32" + dims +
                     "\nconst s: f32[] = [0.1]\nconst z: i8[] = [0]\nconst half: f32[] = [0.5]\n";
  const auto quantized = [&](const std::string& x, bool wanted) {
    if (!wanted) return x;
    text += x + "q = QuantizeLinear(" + x + ", s, z)\n" + x + "d = DequantizeLinear(" + x +
            "q, s, z)\n";
    return x + "d";
  };
  text += "qs = Mul(q, half)\nkt = Transpose(k) {perm=[0, 1, 3, 2]}\n";
  const std::string a = quantized(form.scale_after ? "q" : "qs", form.query);
  const std::string b = quantized("kt", form.key);
  text += "scores = MatMul(" + a + ", " + b + ")\n";
  if (form.scale_after) text += "scaled = Mul(scores, half)\n";
  text += "p = Softmax(" + std::string(form.scale_after ? "scaled" : "scores") + ") {axis=-1}\n";
  const std::string probabilities = quantized("p", form.probabilities);
  const std::string value = quantized("v", form.value);
  text += "context = MatMul(" + probabilities + ", " + value +
          ")\n"
          "t = Transpose(context) {perm=[0, 2, 1, 3]}\n";
  const std::string out = quantized("t", form.output);
  text += "y = Abs(" + out + ")\noutput y: f32[*]\n";
  return parse_graph(text).value();
}

LayerForm layer(const Graph& graph, std::string_view node, std::string_view target) {
  const std::vector<LayerForm> layers = explain(graph, target).value();
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const LayerForm& l) { return l.node == node; });
  EXPECT_NE(found, layers.end()) << node;
  return found == layers.end() ? LayerForm{} : *found;
}

TEST(ExplainTensorRt, AttentionIsOneKernelWhereAllConditionsHold) {
  for (const int head : {16, 32, 64})
    for (const char* node : {"scores", "p", "context"}) {
      const LayerForm l = layer(attention({.length = 512, .head = head}), node, "tensorrt-10");
      EXPECT_EQ(l.fusion, "attention \"p\"");
      EXPECT_EQ(l.precision, LayerPrecision::kInt8);
      EXPECT_TRUE(l.mend.empty());
    }
  const Graph real = attention({false, false, false, false, false, 2048, 128});
  EXPECT_EQ(layer(real, "scores", "tensorrt-10").fusion, "attention \"p\"");
  EXPECT_EQ(layer(real, "scores", "tensorrt-10").precision, LayerPrecision::kFloat);
}

TEST(ExplainTensorRt, AttentionNamesTheConditionThatFailed) {
  struct Case {
    AttentionCase form;
    const char* condition;
    const char* mend;
  };
  const Case cases[] = {
      {{.query = false}, "no Q/DQ before the first product, on Q", "put Q/DQ before the first"},
      {{.key = false}, "no Q/DQ before the first product, on K", "put Q/DQ before the first"},
      {{.probabilities = false}, "no Q/DQ behind the softmax", "put Q/DQ behind the softmax"},
      {{.value = false}, "no Q/DQ before the second product, on V", "put Q/DQ before the second"},
      {{.output = false}, "no Q/DQ behind the second product", "put Q/DQ behind the second"},
      {{.length = 513}, "the length is 513, int8 takes 512 at most", "take Q/DQ out"},
      {{.head = 48}, "the head size is 48, int8 takes 16, 32 and 64", "take Q/DQ out"},
      {{.scale_after = true}, "the scale is applied to the scores", "multiply Q or K"},
  };
  for (const Case& c : cases) {
    const LayerForm l = layer(attention(c.form), "context", "tensorrt-10");
    EXPECT_TRUE(l.fusion.empty()) << c.condition;
    EXPECT_NE(l.why.find(c.condition), std::string::npos) << l.why;
    EXPECT_EQ(l.mend.rfind(c.mend, 0), 0U) << l.mend;
  }
}

const char* const kHeader = "graph g opset(\"\"=17)\ninput x: f32[2, 4]\n"
                            "const s: f32[] = [0.1]\nconst z: i8[] = [0]\n"
                            "const w: f32[4, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n"
                            "const shape: i64[2] = [3, 2]\n";

Graph half_quantized() {
  return parse_graph(std::string(kHeader) +
                     "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                     "m = MatMul(d, w)\ny = Reshape(m, shape)\noutput y: f32[3, 2]\n")
      .value();
}

Graph quantized() {
  return parse_graph(std::string(kHeader) +
                     "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                     "wq = QuantizeLinear(w, s, z)\nwd = DequantizeLinear(wq, s, z)\n"
                     "m = MatMul(d, wd)\ny = Reshape(m, shape)\noutput y: f32[3, 2]\n")
      .value();
}

TEST(ExplainTensorRt, SaysWhatWouldMendALayerAndWhatItWeighs) {
  const LayerForm half = layer(half_quantized(), "m", "tensorrt-10");
  EXPECT_EQ(half.precision, LayerPrecision::kFloat);
  EXPECT_EQ(half.mend, "put Q/DQ on \"w\"");
  EXPECT_EQ(half.work, 2 * 4 * 3);
  const LayerForm full = layer(quantized(), "m", "tensorrt-10");
  EXPECT_EQ(full.precision, LayerPrecision::kInt8);
  EXPECT_TRUE(full.mend.empty());
  EXPECT_EQ(int8_share(explain(half_quantized(), "tensorrt-10").value()), 0);
  EXPECT_EQ(int8_share(explain(quantized(), "tensorrt-10").value()), 1);
}

TEST(Explain, WorkOfConvolutions) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 4, 10, 10]\n"
                                  "input w: f32[6, 2, 3, 3]\ny = Conv(x, w) {group=2}\n"
                                  "output y: f32[*]\n")
                          .value();
  // 6 channels of 8 x 8 outputs, each of 2 channels x 9 taps; N counts as 1.
  EXPECT_EQ(layer(graph, "y", "tensorrt-10").work, 6 * 8 * 8 * 2 * 9);
}

TEST(Explain, DiffNamesTheLayersThatChanged) {
  const auto before = explain(half_quantized(), "tensorrt-10").value();
  const auto after = explain(quantized(), "tensorrt-10").value();
  EXPECT_TRUE(diff(before, before).empty());
  const std::vector<LayerChange> changes = diff(before, after);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].node, "m");
  EXPECT_EQ(changes[0].before, "MatMul (float)");
  EXPECT_EQ(changes[0].after, "MatMul (int8)");
  const std::vector<LayerChange> gone = diff(after, {});
  EXPECT_EQ(gone.size(), after.size());
  EXPECT_TRUE(gone[0].after.empty());
}

TEST(ExplainTensorRt, NamesWhatAProductIsComputedWith) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[1, 2, 4, 4]\ninput r: f32[1, 2, 4, 4]\n"
                  "const s: f32[] = [0.1]\nconst z: i8[] = [0]\n"
                  "const w: f32[2, 2, 1, 1] = [1, 2, 3, 4]\nconst b: f32[2, 1, 1] = [1, 2]\n"
                  "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                  "wq = QuantizeLinear(w, s, z)\nwd = DequantizeLinear(wq, s, z)\n"
                  "rq = QuantizeLinear(r, s, z)\nrd = DequantizeLinear(rq, s, z)\n"
                  "c = Conv(d, wd)\nbias = Add(c, b)\nsum = Add(bias, rd)\nact = Relu(sum)\n"
                  "e = Exp(act)\ny = Add(e, r) \"plain\"\noutput y: f32[*]\n")
          .value();
  for (const char* node : {"c", "bias", "sum", "act"})
    EXPECT_EQ(layer(graph, node, "tensorrt-10").fusion, "Conv \"c\" + bias + residual + Relu");
  EXPECT_EQ(layer(graph, "bias", "tensorrt-10").why, "the bias of the product before it");
  EXPECT_NE(layer(graph, "sum", "tensorrt-10").why.find("shortcut"), std::string::npos);
  const LayerForm plain = layer(graph, "plain", "tensorrt-10");
  EXPECT_TRUE(plain.fusion.empty());
  EXPECT_EQ(plain.why.find("shortcut"), std::string::npos);
}

TEST(ExplainTensorRt, AShortcutInFloatIsNamed) {
  const Graph graph =
      parse_graph(std::string(kHeader) + "input r: f32[2, 3]\nm = MatMul(x, w)\ny = Add(m, r)\n"
                                         "output y: f32[2, 3]\n")
          .value();
  EXPECT_EQ(layer(graph, "y", "tensorrt-10").mend, "put Q/DQ on \"r\"");
  const Graph sum = parse_graph(std::string(kHeader) +
                                "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                                "a = Add(d, d)\no = QuantizeLinear(a, s, z)\n"
                                "y = DequantizeLinear(o, s, z)\noutput y: f32[2, 4]\n")
                        .value();
  EXPECT_EQ(layer(sum, "a", "tensorrt-10").precision, LayerPrecision::kInt8);
}

TEST(Explain, RefusedLayersSaySo) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\nconst s: f32[] = [0.1]\n"
                  "const z: i8[] = [0]\nconst seven: i8[] = [7]\n"
                  "const w: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
                  "q = QuantizeLinear(x, s, seven)\nd = DequantizeLinear(q, s, seven)\n"
                  "wd = DequantizeLinear(w, s, z)\nm = MatMul(d, wd)\ny = Exp(m)\n"
                  "output y: f32[2, 4]\n")
          .value();
  const LayerForm product = layer(graph, "m", "tensorrt-10");
  EXPECT_EQ(product.precision, LayerPrecision::kRefused);
  EXPECT_EQ(product.why.rfind("zero-point-not-zero", 0), 0U) << product.why;
  EXPECT_EQ(layer(graph, "y", "tensorrt-10").precision, LayerPrecision::kFloat);
  EXPECT_EQ(int8_share(explain(graph, "tensorrt-10").value()), 0);
  EXPECT_EQ(layer(graph, "m", "onnxruntime").precision, LayerPrecision::kInt8);
}

/// Names are for people: two nodes may share one.
TEST(Explain, OnlyTheRefusedOneOfTwoNamesakesIsRefused) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\nconst s: f32[] = [0.1]\n"
                  "const z: i8[] = [0]\nconst seven: i8[] = [7]\n"
                  "const w: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
                  "q = QuantizeLinear(x, s, seven)\nd = DequantizeLinear(q, s, seven)\n"
                  "wd = DequantizeLinear(w, s, z)\nm = MatMul(d, wd) \"twin\"\n"
                  "p = QuantizeLinear(m, s, z)\ne = DequantizeLinear(p, s, z)\n"
                  "y = MatMul(e, wd) \"twin\"\noutput y: f32[2, 4]\n")
          .value();
  std::vector<LayerPrecision> precisions;
  const std::vector<LayerForm> layers = explain(graph, "tensorrt-10").value();
  for (const LayerForm& one : layers) {
    EXPECT_EQ(one.node, "twin");
    EXPECT_EQ(graph.node(one.id).op_type, "MatMul");
    precisions.push_back(one.precision);
  }
  EXPECT_EQ(precisions, (std::vector{LayerPrecision::kRefused, LayerPrecision::kInt8}));
  const TensorAnswer answer = explain_tensor(graph, "y", "tensorrt-10").value();
  EXPECT_NE(answer.why.find("runs in int8 without it"), std::string::npos) << answer.why;
}

TEST(Explain, NodesWithoutANameAreKnownByTheirFirstOutput) {
  Graph graph = quantized();
  for (const NodeId id : graph.nodes())
    graph.mutable_node(id).name.clear();
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"}) {
    const LayerForm product = layer(graph, "m", target);
    EXPECT_EQ(product.precision, LayerPrecision::kInt8) << target;
    EXPECT_EQ(product.work, 2 * 4 * 3) << target;
  }
}

TEST(ExplainOnnxRuntime, CodesOfSixteenBitsSaySo) {
  const Graph graph = parse_graph("graph g opset(\"\"=21)\n"
                                  "input x: f32[1, 4]\n"
                                  "const s: f32[] = [0.1]\nconst z: i16[] = [0]\n"
                                  "const w: i8[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
                                  "const zw: i8[] = [0]\n"
                                  "q = QuantizeLinear(x, s, z)\n"
                                  "d = DequantizeLinear(q, s, z)\n"
                                  "dw = DequantizeLinear(w, s, zw)\n"
                                  "y = MatMul(d, dw) \"product\"\n"
                                  "output y: f32[1, 2]\n")
                          .value();
  const LayerForm product = layer(graph, "product", "onnxruntime");
  EXPECT_EQ(product.why,
            "codes of i16: only uint8 becomes integer, and int8 that can be turned into it");
  EXPECT_EQ(product.mend, "quantize to 8 bits");
}

TEST(ExplainOctet, ItsOwnOperatorsAndIntegerOnes) {
  const Graph own = parse_graph("graph g opset(\"\"=17, \"octet.native\"=1)\ninput x: f32[2, 4]\n"
                                "const w: i8[3, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n"
                                "const s: f32[1] = [0.1]\ny = octet.native.QDynamicGemm(x, w, s)\n"
                                "output y: f32[2, 3]\n")
                        .value();
  const LayerForm product = layer(own, "y", "octet");
  EXPECT_EQ(product.op, "QDynamicGemm");
  EXPECT_EQ(product.precision, LayerPrecision::kInt8);
  EXPECT_EQ(product.why, "octet's own operator");
  EXPECT_EQ(product.work, 2 * 4 * 3);
  EXPECT_EQ(int8_share(explain(own, "octet").value()), 1);
}

TEST(ExplainOctet, AChainIsFusedAndWhatItBecameIsThere) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\nconst r: f32[] = [1.4142135]\n"
                  "const one: f32[] = [1]\nconst half: f32[] = [0.5]\n"
                  "a = Div(x, r)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, c)\ny = Mul(d, half)\n"
                  "output y: f32[2, 4]\n")
          .value();
  EXPECT_EQ(layer(graph, "b", "octet").precision, LayerPrecision::kFused);
  const std::vector<LayerForm> layers = explain(graph, "octet").value();
  EXPECT_TRUE(
      std::any_of(layers.begin(), layers.end(), [](const LayerForm& l) { return l.op == "Gelu"; }));
}

TEST(ExplainTensor, SaysWhetherAMissingRangeMatters) {
  const Graph plain =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\n"
                  "const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
                  "13, 14, 15, 16]\n"
                  "product = MatMul(x, w)\ne = Exp(product)\nl = Log(e)\nsh = Shape(l)\n"
                  "y = Reshape(l, sh)\noutput y: f32[*]\n")
          .value();
  const auto answer = [&](const char* tensor) {
    return explain_tensor(plain, tensor, "tensorrt-10").value();
  };
  EXPECT_TRUE(answer("x").matters);
  EXPECT_TRUE(answer("product").matters);
  EXPECT_EQ(answer("product").producer, "MatMul \"product\"");
  EXPECT_EQ(answer("product").consumers, std::vector<std::string>{"Exp \"e\""});
  EXPECT_FALSE(answer("e").matters); // neither side runs in int8
  EXPECT_FALSE(answer("w").matters);
  EXPECT_FALSE(answer("sh").matters);
  const TensorAnswer explicit_range = explain_tensor(quantized(), "d", "tensorrt-10").value();
  EXPECT_FALSE(explicit_range.matters);
  const auto unknown = explain_tensor(plain, "prodict", "tensorrt-10");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("\"product\""), std::string::npos);
}

TEST(ExplainTensor, AnUnknownNameGetsTheNearestFive) {
  std::string text = "graph g opset(\"\"=17)\ninput x: f32[2]\n";
  for (int i = 0; i < 40; ++i)
    text +=
        "a" + std::to_string(i) + " = Abs(" + (i == 0 ? "x" : "a" + std::to_string(i - 1)) + ")\n";
  const auto answer =
      explain_tensor(parse_graph(text + "output a39: f32[2]\n").value(), "zzz", "tensorrt-10");
  ASSERT_FALSE(answer.ok());
  const std::string said = answer.error().text();
  EXPECT_EQ(std::count(said.begin(), said.end(), '"'), 2 + 2 * 5) << said;
}

TEST(ExplainTensor, AFileWithQdqIsAnsweredByItsLayers) {
  // The product runs in int8: what it makes needs nothing.
  const TensorAnswer whole = explain_tensor(quantized(), "m", "tensorrt-10").value();
  EXPECT_FALSE(whole.matters);
  EXPECT_NE(whole.why.find("runs in int8 without it"), std::string::npos) << whole.why;
  // Here the weight lacks Q/DQ, not the product's output.
  const TensorAnswer half = explain_tensor(half_quantized(), "m", "tensorrt-10").value();
  EXPECT_FALSE(half.matters);
  EXPECT_EQ(half.fix, "put Q/DQ on \"w\"");
  const Graph open = parse_graph(std::string(kHeader) +
                                 "wq = QuantizeLinear(w, s, z)\nwd = DequantizeLinear(wq, s, z)\n"
                                 "y = MatMul(x, wd)\noutput y: f32[2, 3]\n")
                         .value();
  const TensorAnswer input = explain_tensor(open, "x", "tensorrt-10").value();
  EXPECT_TRUE(input.matters);
  EXPECT_EQ(input.fix, "put Q/DQ on \"x\"");
}

TEST(ExplainTensor, OnlyTensorRtTo10HasTablesAndTheSentence) {
  const Graph plain =
      parse_graph(std::string(kHeader) + "y = MatMul(x, w)\noutput y: f32[2, 3]\n").value();
  const auto answer = [&](const char* target) {
    return explain_tensor(plain, "x", target).value();
  };
  EXPECT_NE(answer("tensorrt-10").fix.find("calibration table"), std::string::npos);
  for (const char* target : {"tensorrt-11", "onnxruntime", "octet"}) {
    EXPECT_EQ(answer(target).fix.find("calibration table"), std::string::npos) << target;
    EXPECT_NE(answer(target).why.find("never"), std::string::npos) << target;
    EXPECT_TRUE(answer(target).matters) << target;
  }
}

/// A node may leave its first output out.
TEST(ExplainTensorRt, ALayerWithoutItsFirstOutputHasTheTypeOfTheNext) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[1, 2, 4, 4]\n"
                  "_, y = MaxPool(x) {kernel_shape=[2, 2]}\noutput y: i64[1, 2, 3, 3]\n")
          .value();
  const std::vector<LayerForm> layers = explain(graph, "tensorrt-11").value();
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].precision_name(), "i64");
}

/// Names are no syntax: the words of notes in them change nothing.
TEST(ExplainOctet, NamesMayHoldAnything) {
  for (const std::string name : {"plain", "fused into it", "on codes", ".Q", "a (b)", "QGemm"}) {
    const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\n"
                                    "const root: f32[] = [1.4142135]\nconst one: f32[] = [1]\n"
                                    "const half: f32[] = [0.5]\n"
                                    "a = Div(x, root) \"" +
                                    name +
                                    " 1\"\n"
                                    "b = Erf(a) \"" +
                                    name +
                                    " 2\"\n"
                                    "c = Add(b, one) \"" +
                                    name +
                                    " 3\"\n"
                                    "d = Mul(x, c) \"" +
                                    name +
                                    " 4\"\n"
                                    "e = Mul(d, half) \"" +
                                    name +
                                    " 5\"\n"
                                    "y = Relu(e) \"" +
                                    name + "\"\noutput y: f32[2, 4]\n")
                            .value();
    std::set<std::string> names = {name + " 2/gelu"}; // what the chain runs as
    for (const NodeId id : graph.nodes())
      names.insert(graph.node(id).name);
    const std::vector<LayerForm> layers = explain(graph, "octet").value();
    for (const LayerForm& layer : layers) {
      EXPECT_TRUE(names.contains(layer.node)) << layer.node;
      EXPECT_TRUE(layer.precision == LayerPrecision::kFloat ||
                  layer.precision == LayerPrecision::kFused)
          << layer.precision_name();
    }
  }
}

/// Q moves back through operators that TensorRT knows, not through a plugin of the same name.
TEST(Explain, MovesCodesThroughStandardOperatorsAlone) {
  for (const bool plugin : {false, true}) {
    const Graph graph = parse_graph(std::string(R"(graph g opset(""=17, "mine"=1)
input x: f32[1, 2, 4, 4]
const s: f32[] = [0.1]
const z: i8[] = [0]
q = QuantizeLinear(x, s, z)
d = DequantizeLinear(q, s, z)
p = GlobalAveragePool(d) "pool"
r = )") + (plugin ? "mine." : "") +
                                    R"(Transpose(p)
c = QuantizeLinear(r, s, z)
y = DequantizeLinear(c, s, z)
output y: f32[*]
)")
                            .value();
    const std::vector<LayerForm> layers = explain(graph, "tensorrt-10").value();
    ASSERT_FALSE(layers.empty());
    EXPECT_EQ(layers[0].form, "GlobalAveragePool");
    EXPECT_EQ(layers[0].precision, plugin ? LayerPrecision::kFloat : LayerPrecision::kInt8)
        << layers[0].why;
  }
}

TEST(ExplainOctet, LinesAreTheOperatorsThatTheyWere) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2, L]\nconst s: f32[] = [0.1]\n"
                  "const z: i8[] = [0]\nconst w: i8[1, 2, 2] = [1, 2, 3, 4]\n"
                  "const v: i8[1, 3, 2] = [1, 2, 3, 4, 5, 6]\n"
                  "xq = QuantizeLinear(x, s, z)\nxd = DequantizeLinear(xq, s, z)\n"
                  "wd = DequantizeLinear(w, s, z)\na = Conv(xd, wd)\nr = Relu(a)\n"
                  "rq = QuantizeLinear(r, s, z)\nrd = DequantizeLinear(rq, s, z)\n"
                  "vd = DequantizeLinear(v, s, z)\nb = ConvTranspose(rd, vd) {strides=[2]}\n"
                  "y = Sin(b)\noutput y: f32[*]\n")
          .value();
  for (const char* product : {"a", "b"}) {
    EXPECT_EQ(layer(graph, product, "octet").form, "QConv");
    EXPECT_EQ(layer(graph, product, "octet").precision, LayerPrecision::kInt8);
  }
  EXPECT_EQ(layer(graph, "r", "octet").form, "fused into Conv \"a\"");
  const std::vector<LayerForm> layers = explain(graph, "octet").value();
  EXPECT_EQ(layers.size(), 4) << "each operator of the file once";
  EXPECT_EQ(int8_share(layers), 1);
}

} // namespace
} // namespace octet
