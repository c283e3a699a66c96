// SPDX-License-Identifier: Apache-2.0
// Layers of engines matched with what explain predicts for the model that they were built from.
#include <string>

#include <gtest/gtest.h>

#include "octet/engine.h"
#include "octet/engine_layers.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

/// An int8 convolution and Relu, a float product, a Softmax, shapes.
const Graph& network() {
  static const Graph graph =
      parse_graph("graph g opset(\"\"=17)\n"
                  "input x: f32[1, 2, 4, 4]\n"
                  "const s: f32[] = [0.1]\nconst z: i8[] = [0]\n"
                  "const w: f32[1, 2, 1, 1] = [1, 2]\n"
                  "const v: f32[16, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, "
                  "2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5]\n"
                  "q = QuantizeLinear(x, s, z) \"xq\"\nd = DequantizeLinear(q, s, z) \"xd\"\n"
                  "wq = QuantizeLinear(w, s, z) \"wq\"\nwd = DequantizeLinear(wq, s, z) \"wd\"\n"
                  "c = Conv(d, wd) \"conv\"\n"
                  "r = Relu(c) \"relu\"\n"
                  "f = Flatten(r) \"flatten\"\n"
                  "m = MatMul(f, v) \"fc\"\n"
                  "y = Softmax(m)\n"
                  "output y: f32[1, 2]\n")
          .value();
  return graph;
}

struct Compared {
  std::vector<LayerForm> predicted;
  std::vector<EngineLayer> layers;
  std::vector<EngineNode> nodes;

  const EngineNode& of(std::string_view node) const {
    for (const EngineNode& n : nodes)
      if (predicted[n.predicted].node == node) return n;
    ADD_FAILURE() << node << " is not among the predicted layers";
    return nodes.front();
  }
  EngineVerdict verdict(std::string_view node) const { return of(node).verdict; }
};

Compared compare(const Graph& graph, std::string_view target, const std::string& json) {
  Compared out{explain(graph, target).value(), parse_engine_layers(json).value(), {}};
  out.nodes = compare_engine(out.predicted, out.layers);
  EXPECT_EQ(out.nodes.size(), out.predicted.size());
  return out;
}

std::string layer(const std::string& name,
                  const std::string& type,
                  const std::string& in,
                  const std::string& metadata = {}) {
  return R"({"Name": ")" + name + R"(", "LayerType": ")" + type + R"(", "Metadata": ")" + metadata +
         R"(", "Inputs": [{"Name": "i", "Format/Datatype": ")" + in + R"("}], "Outputs": []})";
}

std::string engine(std::initializer_list<std::string> layers) {
  std::string out;
  for (const std::string& l : layers)
    out += (out.empty() ? "" : ",") + l;
  return "{\"Layers\": [" + out + "]}";
}

TEST(CompareEngine, AgreesWhereTheEngineDoesAsPredicted) {
  const Compared c =
      compare(network(), "tensorrt-8.6",
              engine({layer("xq", "Reformat", "Row major linear FP32"),
                      layer("w + wq + conv + relu", "CaskConvolution", "Row major Int8 format"),
                      layer("reshape_before_fc", "Shuffle", "Row major linear FP16 format"),
                      layer("fc + v", "MatrixMultiply", "Row major linear FP16 format"),
                      layer("node_of_y", "Softmax", "Row major linear FP32")}));
  EXPECT_EQ(c.verdict("conv"), EngineVerdict::kAsPredicted);
  EXPECT_EQ(c.of("conv").layer, 1);
  EXPECT_EQ(c.verdict("fc"), EngineVerdict::kAsPredicted); // float: any of them
  EXPECT_EQ(c.of("y").layer, 4);                           // a node without a name
  EXPECT_EQ(c.verdict("y"), EngineVerdict::kAsPredicted);
  EXPECT_EQ(c.verdict("relu"), EngineVerdict::kFused); // int8 is what the convolution reads
  EXPECT_EQ(c.verdict("flatten"), EngineVerdict::kGone);
  const auto precisions = predicted_precisions(c.predicted, c.layers, c.nodes);
  EXPECT_EQ(precisions, (std::vector<std::string>{"", "int8", "", "float", "float"}));
}

TEST(CompareEngine, TellsWhatRunsOtherwise) {
  const Compared c = compare(
      network(), "tensorrt-10",
      engine(
          {layer("conv", "CaskConvolution", "Row major linear FP32", "[ONNX Layer: conv]"),
           layer("__myl_Fc", "gemm", "Int8", "[ONNX Layer: fc]\\u001f[ONNX Layer: node_of_y]")}));
  EXPECT_EQ(c.verdict("conv"), EngineVerdict::kOtherwise);
  EXPECT_EQ(c.verdict("fc"), EngineVerdict::kOtherwise);
}

TEST(CompareEngine, TheLayerThatComputesCountsNotTheCopyBesideIt) {
  const Compared c = compare(
      network(), "tensorrt-10",
      engine({layer("copy", "Reformat", "Float", "[ONNX Layer: conv]"),
              layer("__myl_Cast", "kgen", "Float", "[ONNX Layer: conv]"),
              layer("conv_myl0_2", "conv", "Int8", "[ONNX Layer: conv]"),
              layer("later", "Shuffle", "Float", "[ONNX Layer: conv]\\u001f[ONNX Layer: fc]")}));
  EXPECT_EQ(c.of("conv").layer, 2);
  EXPECT_EQ(c.verdict("conv"), EngineVerdict::kAsPredicted);
  EXPECT_EQ(c.verdict("fc"), EngineVerdict::kMoves);
}

TEST(CompareEngine, RegionsTellNothingOfTheNodesBetweenTheirEnds) {
  const Compared ends = compare(network(), "tensorrt-8.6",
                                engine({layer("conv", "CaskConvolution", "Row major Int8 format"),
                                        layer("{ForeignNode[v...fc]}", "Myelin", "Float")}));
  EXPECT_EQ(ends.verdict("conv"), EngineVerdict::kAsPredicted);
  EXPECT_EQ(ends.verdict("fc"), EngineVerdict::kUntold);
  EXPECT_EQ(ends.verdict("y"), EngineVerdict::kGone); // behind the region's end
  const Compared open = compare(network(), "tensorrt-8.6",
                                engine({layer("{ForeignNode[v...w]}", "Myelin", "Float")}));
  EXPECT_EQ(open.verdict("conv"), EngineVerdict::kUntold);
  EXPECT_EQ(open.verdict("y"), EngineVerdict::kUntold);
}

TEST(CompareEngine, NamesAloneTellNoPrecision) {
  const Compared c = compare(network(), "tensorrt-10", R"({"Layers": ["wq + conv + relu", "fc"]})");
  EXPECT_EQ(c.verdict("conv"), EngineVerdict::kUntold);
  EXPECT_EQ(c.verdict("relu"), EngineVerdict::kFused);
}

TEST(CompareEngine, WhatMovesCodesIsNotPredicted) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[1, 1, 4, 4]\n"
                                  "const s: f32[] = [0.1]\nconst z: i8[] = [0]\n"
                                  "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                                  "y = MaxPool(d) {kernel_shape=[2, 2]} \"pool\"\n"
                                  "output y: f32[1, 1, 3, 3]\n")
                          .value();
  const Compared c = compare(graph, "tensorrt-10",
                             engine({layer("pool", "CaskPooling", "Row major Int8 format")}));
  EXPECT_EQ(c.verdict("pool"), EngineVerdict::kNotPredicted);
  EXPECT_EQ(predicted_precisions(c.predicted, c.layers, c.nodes).front(), "");
}

TEST(CompareEngine, WhatKeepsCodesIsFusedWhereTheProductsLayerDoesIt) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[1, 2, 4, 4]\n"
                                  "const s: f32[] = [0.1]\nconst z: i8[] = [0]\n"
                                  "const w: f32[2, 2, 1, 1] = [1, 2, 3, 4]\n"
                                  "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                                  "wq = QuantizeLinear(w, s, z)\nwd = DequantizeLinear(wq, s, z)\n"
                                  "c = Conv(d, wd) \"conv\"\nr = Relu(c) \"relu\"\n"
                                  "rq = QuantizeLinear(r, s, z)\ny = DequantizeLinear(rq, s, z)\n"
                                  "output y: f32[1, 2, 4, 4]\n")
                          .value();
  const Compared c =
      compare(graph, "tensorrt-8.6",
              engine({layer("w + wq + conv + relu", "CaskConvolution", "Row major Int8 format")}));
  ASSERT_EQ(c.predicted[c.of("relu").predicted].precision, LayerPrecision::kCodes);
  EXPECT_EQ(c.verdict("conv"), EngineVerdict::kAsPredicted);
  EXPECT_EQ(c.verdict("relu"), EngineVerdict::kFused);
}

TEST(CompareEngine, From11OnTheFilesTypesCount) {
  const Compared same = compare(network(), "tensorrt-11", engine({layer("fc", "gemm", "Float")}));
  EXPECT_EQ(same.verdict("fc"), EngineVerdict::kAsPredicted);
  const Compared other = compare(network(), "tensorrt-11", engine({layer("fc", "gemm", "Half")}));
  EXPECT_EQ(other.verdict("fc"), EngineVerdict::kOtherwise);
}

TEST(CompareEngine, AttentionThatIsNotOneKernelIsTold) {
  const std::string dims = "[1, 2, 8, 32]";
  std::string text = "graph g opset(\"\"=17)\ninput q: f32" + dims + "\ninput k: f32" + dims +
                     "\ninput v: f32" + dims + "\nconst half: f32[] = [0.5]\n" +
                     "qs = Mul(q, half)\nkt = Transpose(k) {perm=[0, 1, 3, 2]}\n" +
                     "scores = MatMul(qs, kt)\np = Softmax(scores) {axis=-1}\n" +
                     "context = MatMul(p, v)\nt = Transpose(context) {perm=[0, 2, 1, 3]}\n" +
                     "y = Abs(t)\noutput y: f32[*]\n";
  const Graph graph = parse_graph(text).value();
  const std::string one = "[ONNX Layer: scores][ONNX Layer: p][ONNX Layer: context]";
  const Compared fused =
      compare(graph, "tensorrt-10", engine({layer("mha", "fusion", "Half", one)}));
  EXPECT_EQ(fused.verdict("context"), EngineVerdict::kAsPredicted);
  const Compared apart = compare(graph, "tensorrt-10",
                                 engine({layer("a", "gemm", "Half", "[ONNX Layer: scores]"),
                                         layer("b", "kgen", "Half", "[ONNX Layer: p]"),
                                         layer("c", "gemm", "Half", "[ONNX Layer: context]")}));
  EXPECT_EQ(apart.verdict("context"), EngineVerdict::kOtherwise);
  EXPECT_EQ(apart.of("p").note, "attention \"p\" was predicted as one kernel and is 3");
}

TEST(CompareEngine, EveryNodeGetsOneVerdictWhateverTheEngineNames) {
  const Compared nothing = compare(network(), "tensorrt-10", engine({}));
  for (const EngineNode& n : nothing.nodes)
    EXPECT_EQ(n.verdict, EngineVerdict::kGone);
  EXPECT_TRUE(
      compare_engine({}, parse_engine_layers(R"(["{ForeignNode[a...b]}"])").value()).empty());
}

TEST(EngineInput, IntegersAreNarrowedWhereTheyFit) {
  EnginePort port;
  port.name = "ids";
  port.type = DType::kInt32;
  const Tensor ids = Tensor::of<int64_t>({3}, {1, -2, 2147483647});
  const Result<Tensor> narrow = as_engine_input(ids, port);
  ASSERT_TRUE(narrow.ok()) << narrow.error().text();
  EXPECT_TRUE(narrow->identical(Tensor::of<int32_t>({3}, {1, -2, 2147483647})));
  const Result<Tensor> large = as_engine_input(Tensor::of<int64_t>({1}, {2147483648}), port);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().text(),
            "the engine's input \"ids\" takes 32-bit integers and gets 2147483648");
  EXPECT_FALSE(as_engine_input(Tensor::of<float>({1}, {1.0F}), port).ok());
  port.type = DType::kInt64;
  EXPECT_TRUE(as_engine_input(ids, port)->identical(ids));
}

} // namespace
} // namespace octet
