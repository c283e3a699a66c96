// SPDX-License-Identifier: Apache-2.0
// 16 bits with float islands: what is kept and why, what is clamped, and that codes stay.
#include <cmath>
#include <numeric>

#include "graph/label.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/export.h"
#include "octet/target.h"

namespace octet {
namespace {

using test::nodes_of;
using test::random_tensor;
using test::run_reference;

Graph parse(const std::string& text) {
  return parse_graph(text).value();
}

std::vector<ExportNote> convert(Graph& graph, const PrecisionOptions& options = {}) {
  auto notes = convert_precision(graph, options);
  EXPECT_TRUE(notes.ok()) << (notes.ok() ? "" : notes.error().text());
  return notes.ok() ? *notes : std::vector<ExportNote>();
}

std::string why(const std::vector<ExportNote>& notes, const char* rule, const char* node) {
  for (const ExportNote& note : notes)
    if (note.rule == rule && note.node.find(node) != std::string::npos) return note.why;
  return "";
}

DType type_of(const Graph& graph, const char* op) {
  const auto nodes = nodes_of(graph, op);
  return nodes.empty() ? DType::kUndefined : graph.value(nodes[0]->output(0)).type.type;
}

TEST(Precision, EverythingBetweenInputsAndOutputsIsHalf) {
  const Graph graph = test::cnn({.hidden_relu = true, .batch_norm = true, .softmax = false});
  const Tensor x = random_tensor({4, 1, 28, 28}, 3, -0.8F, 2.0F);
  for (const auto& [type, least] : {std::pair{DType::kFloat16, 60.0}, {DType::kBfloat16, 40.0}}) {
    Graph half = graph;
    const auto notes = convert(half, {.type = type, .keep_float = {}, .ranges = {}});
    EXPECT_EQ(why(notes, "keep_float", ""), "");
    EXPECT_EQ(notes.size(), type == DType::kBfloat16 ? 1U : 0U); // Conv takes bf16 from 22 on
    EXPECT_EQ(half.value(half.inputs()[0]).type.type, DType::kFloat32);
    EXPECT_EQ(half.value(half.outputs()[0]).name, graph.value(graph.outputs()[0]).name);
    EXPECT_EQ(half.value(half.outputs()[0]).type.type, DType::kFloat32);
    EXPECT_EQ(nodes_of(half, "Cast").size(), 2U);
    EXPECT_EQ(type_of(half, "Conv"), type);
    EXPECT_TRUE(half.find_value("conv1.weight"));
    EXPECT_LT(test::constant_bytes(half), test::constant_bytes(graph) * 51 / 100);
    EXPECT_GT(test::sqnr(run_reference(graph, x), run_reference(half, x)), least);
  }
}

TEST(Precision, PatternsKeepIslands) {
  Graph graph = test::cnn();
  const auto notes =
      convert(graph, {.type = DType::kFloat16, .keep_float = {"conv2", "Softmax"}, .ranges = {}});
  EXPECT_EQ(notes.size(), 2U);
  EXPECT_EQ(why(notes, "keep_float", "conv2"), "kept by pattern");
  EXPECT_EQ(type_of(graph, "Softmax"), DType::kFloat32);
  EXPECT_EQ(type_of(graph, "Gemm"), DType::kFloat16);
  Graph other = test::cnn();
  const auto refused =
      convert_precision(other, {.type = DType::kFloat16, .keep_float = {"conv3"}, .ranges = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("did you mean \"conv"), std::string::npos);
}

TEST(Precision, WhatAnAttributeSaysIsFloatBecomesHalf) {
  Graph graph = parse(R"(graph g opset(""=23)
input x: f32[2, 4]
const w: i8[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]
const s: f32[2, 2] = [0.5, 0.25, 1, 2]
d = DequantizeLinear(w, s) {axis=0, block_size=2, output_dtype=1}
y = MatMul(x, d)
output y: f32[2, 2]
)");
  const Tensor x = random_tensor({2, 4}, 5);
  const Tensor before = run_reference(graph, x);
  convert(graph);
  EXPECT_EQ(type_of(graph, "DequantizeLinear"), DType::kFloat16);
  EXPECT_EQ(type_of(graph, "MatMul"), DType::kFloat16);
  EXPECT_GT(test::sqnr(before, run_reference(graph, x)), 60);
}

TEST(Precision, MasksAreClampedAndFactorsKeepTheirLayerInFloat) {
  Graph graph = parse(R"(graph g opset(""=17)
input x: f32[2, 2]
const mask: f32[2] = [0, -3.4e38]
const w: f32[2, 2] = [1, 100000, 3, 4]
const tiny: f32[] = [1e-12]
a = Add(x, mask) "masked"
b = Softmax(a) {axis=-1} "softmax"
c = MatMul(b, w) "product"
y = Add(c, tiny) "epsilon"
output y: f32[2, 2]
)");
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, -3, 4});
  const Tensor want = run_reference(graph, x);
  const auto notes = convert(graph);
  EXPECT_NE(why(notes, "clamp", "mask").find("65504"), std::string::npos);
  EXPECT_NE(why(notes, "keep_float", "product").find("1e+05"), std::string::npos);
  EXPECT_NE(why(notes, "keep_float", "epsilon").find("cannot tell from 0"), std::string::npos);
  EXPECT_EQ(type_of(graph, "Softmax"), DType::kFloat16);
  EXPECT_EQ(type_of(graph, "MatMul"), DType::kFloat32);
  EXPECT_GT(test::sqnr(want, run_reference(graph, x)), 60);
}

TEST(Precision, SeenRangesKeepLayersInFloat) {
  const char* text = R"(graph g opset(""=17)
input x: f32[2]
const k: f32[] = [1000]
a = Mul(x, k) "large"
b = Relu(a) "relu"
y = Sigmoid(b) "end"
output y: f32[2]
)";
  Graph guarded = parse(text);
  const auto notes = convert(guarded, {.type = DType::kFloat16,
                                       .keep_float = {},
                                       .ranges = {{"b", {0, 100000}}, {"a", {-60000, 60000}}}});
  EXPECT_NE(why(notes, "keep_float", "relu").find("reached 1e+05"), std::string::npos);
  EXPECT_NE(why(notes, "keep_float", "end").find("reached 1e+05"), std::string::npos);
  EXPECT_EQ(why(notes, "keep_float", "large"), "");
}

TEST(Precision, OperatorsThatTakeNo16BitsStay) {
  Graph graph = parse(R"(graph g opset(""=17)
input x: f32[]
const zero: f32[] = [0]
const one: f32[] = [1]
r = Range(zero, x, one) "range"
y = Neg(r) "neg"
output y: f32[N]
)");
  const auto notes = convert(graph);
  EXPECT_NE(why(notes, "keep_float", "range").find("positions"), std::string::npos);
  EXPECT_EQ(type_of(graph, "Neg"), DType::kFloat16);
}

/// ScatterElements has max and min of f16 in ONNX Runtime; it loads all of them, and runs no other.
/// Scales that are powers of two leave it open what DequantizeLinear makes: f32.
TEST(Precision, CodesWithScalesOfTheirOwnTypeAreDequantizedInFloat) {
  Graph graph = parse("graph g opset(\"\"=25)\ninput x: f32[2, 4]\n"
                      "const w: i8[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
                      "const s: f8e8m0[2] = [0.5, 0.25]\n"
                      "d = DequantizeLinear(w, s) {axis=1}\ny = MatMul(x, d)\n"
                      "output y: f32[2, 2]\n");
  const auto notes = convert(graph);
  EXPECT_EQ(why(notes, "keep_float", "d"), "it makes f32 of such scales");
  EXPECT_EQ(type_of(graph, "MatMul"), DType::kFloat16);
}

TEST(Precision, ReductionsThatOnnxRuntimeLacksStay) {
  const auto type_with = [](const std::string& op, const std::string& reduction, DType type) {
    Graph graph = parse(R"(graph g opset(""=18)
input x: f32[2, 4]
input u: f32[1, 4]
const at: i64[1, 1] = [1]
const rows: i64[1, 4] = [0, 1, 0, 1]
r = )" + op + "(x, " + (op == "ScatterND" ? "at" : "rows") +
                        ", u) {reduction=\"" + reduction + "\"} \"scatter\"\ny = Neg(r)\n" +
                        "output y: f32[2, 4]\n");
    const auto notes = convert(graph, {.type = type, .keep_float = {}, .ranges = {}});
    EXPECT_EQ(type_of(graph, "Neg"), type);
    const DType out = type_of(graph, op.c_str());
    EXPECT_EQ(why(notes, "keep_float", "scatter"),
              out == type ? ""
                          : "ONNX Runtime has no reduction \"" + reduction + "\" of " +
                                std::string(name(type)));
    return out;
  };
  for (const char* op : {"ScatterElements", "ScatterND"})
    for (const DType type : {DType::kFloat16, DType::kBfloat16}) {
      EXPECT_EQ(type_with(op, "none", type), type);
      for (const char* reduction : {"add", "mul"})
        EXPECT_EQ(type_with(op, reduction, type), DType::kFloat32) << op << " " << reduction;
    }
  EXPECT_EQ(type_with("ScatterElements", "max", DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(type_with("ScatterElements", "min", DType::kBfloat16), DType::kFloat32);
  EXPECT_EQ(type_with("ScatterND", "max", DType::kFloat16), DType::kFloat32);
}

/// The buckets of T5's distances: in f16 the logarithm of 16 gives 1.999 where 2 is meant.
TEST(Precision, IndicesAreCountedInFloat) {
  const char* text = R"(graph g opset(""=17)
input n: i64[N]
const table: f32[8, 1] = [0, 1, 2, 3, 4, 5, 6, 7]
const exact: f32[] = [8]
const octaves: f32[] = [2.7725887]
const buckets: f32[] = [8]
const half: f32[] = [0.5]
f = Cast(n) {to=1} "position"
d = Div(f, exact) "distance"
l = Log(d) "log"
o = Div(l, octaves) "octave"
b = Mul(o, buckets) "bucket"
i = Cast(b) {to=7} "index"
e = Gather(table, i) "embedding"
y = Mul(e, half) "end"
output y: f32[N, 1]
)";
  std::vector<int64_t> counted(120);
  std::iota(counted.begin(), counted.end(), 8);
  const Tensor n = Tensor::of<int64_t>({120}, std::span<const int64_t>(counted));
  const Graph wide = parse(text);
  for (const DType type : {DType::kFloat16, DType::kBfloat16}) {
    Graph graph = wide;
    const auto notes = convert(graph, {.type = type, .keep_float = {}, .ranges = {}});
    for (const char* node : {"position", "distance", "log", "octave", "bucket"})
      EXPECT_NE(why(notes, "keep_float", node).find("becomes an index"), std::string::npos) << node;
    EXPECT_EQ(why(notes, "keep_float", "embedding"), "");
    EXPECT_EQ(type_of(graph, "Log"), DType::kFloat32);
    EXPECT_EQ(type_of(graph, "Gather"), type);
    EXPECT_EQ(nodes_of(graph, "Cast").size(), 3U);
    EXPECT_EQ(run_reference(wide, n).to_doubles().value(),
              run_reference(graph, n).to_doubles().value());
  }
}

/// What products make, and what something else reads too, is no count; a Cast to integers reads an
/// input as it came.
TEST(Precision, WhatIsNotOnlyCountedIsHalf) {
  Graph graph = parse(R"(graph g opset(""=17)
input x: f32[1, 2]
const w: f32[2, 2] = [1, 0, 0, 1]
p = MatMul(x, w) "product"
f = Floor(p) "floor"
r = Sub(p, f) "rest"
i = Cast(f) {to=7} "index"
k = Cast(x) {to=7} "count"
c = Ceil(p) "ceil"
j = Cast(c) {to=7} "other"
output r: f32[1, 2]
output i: i64[1, 2]
output k: i64[1, 2]
output j: i64[1, 2]
)");
  const auto notes = convert(graph);
  EXPECT_NE(why(notes, "keep_float", "ceil").find("becomes an index"), std::string::npos);
  EXPECT_EQ(notes.size(), 1U);
  EXPECT_EQ(type_of(graph, "Floor"), DType::kFloat16);
  EXPECT_EQ(type_of(graph, "MatMul"), DType::kFloat16);
  EXPECT_EQ(graph.node(*graph.find_node("count")).input(0), graph.inputs()[0]);
}

/// Conv and pools take bf16 from operator set 22 on, fp16 always.
TEST(Precision, TheOperatorSetIsOneThatTakesTheType) {
  const char* text = R"(graph g opset(""=17)
input x: f32[1, 1, 4]
const w: f32[1, 1, 3] = [1, 2, 3]
c = Conv(x, w) "conv"
p = AveragePool(c) {kernel_shape=[2]} "pool"
y = Relu(p) "relu"
output y: f32[1, 1, 1]
)";
  Graph half = parse(text);
  convert(half);
  EXPECT_EQ(half.opset(), 17);
  Graph raised = parse(text);
  const auto notes = convert(raised, {.type = DType::kBfloat16, .keep_float = {}, .ranges = {}});
  EXPECT_EQ(raised.opset(), 22);
  EXPECT_EQ(type_of(raised, "Conv"), DType::kBfloat16);
  EXPECT_EQ(type_of(raised, "AveragePool"), DType::kBfloat16);
  EXPECT_EQ(notes.at(0).rule, "raise_opset");
  Graph bound = parse(text);
  const auto kept =
      convert(bound, {.type = DType::kBfloat16, .keep_float = {}, .ranges = {}, .max_opset = 21});
  EXPECT_EQ(bound.opset(), 17);
  EXPECT_EQ(type_of(bound, "Conv"), DType::kFloat32);
  EXPECT_EQ(type_of(bound, "Relu"), DType::kBfloat16);
  EXPECT_NE(why(kept, "keep_float", "conv").find("from operator set 22 on"), std::string::npos);
}

/// Resize has inputs that stay f32 whatever the data are.
TEST(Precision, ResizeKeepsItsScales) {
  Graph graph = parse(R"(graph g opset(""=17)
input x: f32[1, 1, 4]
const none: f32[0] = []
const scales: f32[3] = [1, 1, 2]
y = Resize(x, none, scales) {mode="nearest"} "resize"
output y: f32[1, 1, 8]
)");
  convert(graph);
  EXPECT_EQ(type_of(graph, "Resize"), DType::kFloat16);
}

TEST(Precision, CodesStayWhereScalesAreRoundedFirst) {
  const Graph graph = test::cnn({.hidden_relu = true, .softmax = false});
  for (const DType type : {DType::kFloat16, DType::kBfloat16}) {
    QuantizationPlan plan =
        plan_quantization(graph, test::cnn_data(), {.target = "tensorrt-11"}).value();
    round_scales(plan, type);
    const Graph wide = quantize(graph, plan).value();
    Graph half = wide;
    convert(half, {.type = type, .keep_float = {}, .ranges = {}});
    EXPECT_GE(half.opset(), 19);
    int scales = 0;
    for (const char* op : {"QuantizeLinear", "DequantizeLinear"})
      for (const Node* node : nodes_of(half, op)) {
        const Tensor& scale = *half.constant(node->input(1));
        EXPECT_EQ(scale.type(), type) << label(half, *node);
        const Node& before = wide.node(*wide.find_node(node->name));
        EXPECT_EQ(scale.to_doubles().value(), wide.constant(before.input(1))->to_doubles().value())
            << label(half, *node);
        ++scales;
      }
    EXPECT_GT(scales, 8);
    const std::vector<Finding> findings = check(half, "tensorrt-11").value();
    for (const Finding& f : findings)
      ADD_FAILURE() << f.node << ": " << f.message;
    const Tensor x = random_tensor({4, 1, 28, 28}, 3, -0.8F, 2.0F);
    EXPECT_GT(test::sqnr(run_reference(graph, x), run_reference(half, x)), 20);
  }
}

TEST(Precision, StronglyTypedTensorRtIsExplainedByTypes) {
  const Graph graph = test::cnn({.hidden_relu = true});
  QuantizationPlan plan =
      plan_quantization(graph, test::cnn_data(), {.target = "tensorrt-11"}).value();
  round_scales(plan, DType::kFloat16);
  Graph half = quantize(graph, plan).value();
  convert(half);
  const std::vector<LayerForm> layers = explain(half, "tensorrt-11").value();
  for (const LayerForm& layer : layers) {
    EXPECT_NE(layer.precision, LayerPrecision::kFloat) << layer.node;
    const bool product = layer.op == "Conv" || layer.op == "Gemm";
    EXPECT_TRUE(!product || layer.precision == LayerPrecision::kInt8) << layer.node;
    EXPECT_TRUE(layer.op != "Softmax" || layer.precision_name() == "fp16")
        << layer.precision_name();
  }
}

} // namespace
} // namespace octet
