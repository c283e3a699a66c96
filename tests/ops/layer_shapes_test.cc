// SPDX-License-Identifier: Apache-2.0
// Shapes of layers over symbolic sizes, and what their quantization traits and roles say.
#include "ops/infer.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet::test {
namespace {

/// The inferred type of y.
std::string type_of_y(const std::string& body, int opset = 17) {
  auto graph = parse_graph("graph main opset(\"\"=" + std::to_string(opset) +
                           ", \"octet.native\"=1)\n" + body + "\noutput y: undefined[*]\n");
  if (!graph.ok()) return graph.error().text();
  const Status status = infer_types(*graph, UnknownOp::kRefuse);
  if (!status.ok()) return status.error().text();
  return graph->value(graph->outputs()[0]).type.text();
}

TEST(LayerShapes, KeepSymbolsThroughWindows) {
  EXPECT_EQ("f32[N, 8, H, W]", type_of_y("input x: f32[N, 3, H, W]\ninput w: f32[8, 3, 3, 3]\n"
                                         "y = Conv(x, w) {pads=[1, 1, 1, 1]}"));
  EXPECT_EQ("f32[N, 8, H - 2, 5]", type_of_y("input x: f32[N, 3, H, 11]\ninput w: f32[8, 3, 3, 3]\n"
                                             "y = Conv(x, w) {strides=[1, 2]}"));
  EXPECT_EQ("f32[N, 3, floor(H/2), 4]",
            type_of_y("input x: f32[N, 3, H, 8]\n"
                      "y = MaxPool(x) {kernel_shape=[2, 2], strides=[2, 2]}"));
  EXPECT_EQ("f32[N, C, 1, 1]", type_of_y("input x: f32[N, C, H, W]\ny = GlobalAveragePool(x)"));
  EXPECT_EQ("i8[N, H, W, 8]",
            type_of_y("input x: i8[N, H, W, 4]\ninput w: i8[8, 3, 3, 4]\ninput m: f32[8]\n"
                      "y = octet.native.QConv(x, w, m) {pads=[1, 1, 1, 1]}"));
}

/// The size of the last axis of y for a window over `size` elements, where it is known.
std::optional<Dim> window_of(const std::string& op, const std::string& size) {
  const std::string type =
      type_of_y("input x: f32[2, 3, " + size + "]\ninput w: f32[3, 3, 3]\ny = " + op);
  const Result<Dim> dim = Dim::parse(type.substr(std::min(type.size(), sizeof("f32[2, 3, ") - 1),
                                                 type.size() - sizeof("f32[2, 3, ")));
  return dim.ok() && dim->is_known() ? std::optional(*dim) : std::nullopt;
}

TEST(LayerShapes, OpenWindowsHaveTheSizesOfGivenOnes) {
  int open = 0, compared = 0;
  const auto expect_same = [&](const std::string& op) {
    const std::optional<Dim> any = window_of(op, "L");
    if (!any) {
      ++open;
      return;
    }
    for (int64_t size = 1; size <= 14; ++size) {
      const std::optional<Dim> given = window_of(op, std::to_string(size));
      if (!given) continue; // the window does not fit
      EXPECT_EQ(given->value(), any->evaluate({{"L", size}}).value()) << op << " over " << size;
      ++compared;
    }
  };
  for (const int stride : {1, 2, 3, 5})
    for (const int kernel : {1, 2, 3, 5})
      for (const std::string ceil : {"0", "1"}) {
        const std::string window = "kernel_shape=[" + std::to_string(kernel) + "], strides=[" +
                                   std::to_string(stride) + "]";
        for (const std::string pads : {"0, 0", "1, 0", "0, 1", "2, 2"})
          expect_same("MaxPool(x) {" + window + ", pads=[" + pads + "], ceil_mode=" + ceil + "}");
        for (const std::string pad : {"SAME_UPPER", "SAME_LOWER", "VALID"})
          expect_same("MaxPool(x) {" + window + ", auto_pad=\"" + pad + "\", ceil_mode=" + ceil +
                      "}");
      }
  for (const std::string more : {"", ", dilations=[2]", ", pads=[1, 1]", ", pads=[3, 0]"})
    for (const std::string stride : {"1", "2", "4"})
      expect_same("Conv(x, w) {strides=[" + stride + "]" + more + "}");
  EXPECT_GT(compared, 2000);
  EXPECT_LT(open, 60) << "only windows that end in padding, with ceil_mode, stay open";
}

TEST(LayerShapes, OpenSizesOfStepsQuotientsAndResizes) {
  EXPECT_EQ("f32[N, floor((H + 1)/2)]",
            type_of_y("input x: f32[N, H]\nconst zero: i64[1] = [0]\nconst end: i64[1] = "
                      "[9223372036854775807]\n"
                      "const axis: i64[1] = [1]\nconst two: i64[1] = [2]\n"
                      "y = Slice(x, zero, end, axis, two)"));
  EXPECT_EQ(
      "f32[N, floor(H/2)]",
      type_of_y(
          "input x: f32[N, H]\nconst one: i64[1] = [1]\nconst end: i64[1] = [9223372036854775807]\n"
          "const two: i64[1] = [2]\ny = Slice(x, one, end, one, two)"));
  EXPECT_EQ(
      "f32[N, ?]", // 0 of one element, and the formula would say -1 of none
      type_of_y(
          "input x: f32[N, H]\nconst two: i64[1] = [2]\nconst end: i64[1] = [9223372036854775807]\n"
          "const one: i64[1] = [1]\ny = Slice(x, two, end, one, two)"));
  EXPECT_EQ(
      "f32[floor(N/2), H*2]",
      type_of_y("input x: f32[N, H]\nconst two: i64[2] = [2, 1]\nshape = Shape(x)\n"
                "half = Div(shape, two)\nconst no: f32[0] = []\nconst twice: i64[2] = [1, 2]\n"
                "sizes = Mul(half, twice)\ny = Resize(x, _, no, sizes)"));
}

TEST(LayerShapes, KeepSymbolsThroughProducts) {
  EXPECT_EQ("f32[N, S, 384]",
            type_of_y("input x: f32[N, S, 384]\ninput w: f32[384, 384]\ny = MatMul(x, w)"));
  EXPECT_EQ("f32[N, 12, S, S]",
            type_of_y("input q: f32[N, 12, S, 32]\ninput k: f32[N, 12, 32, S]\ny = MatMul(q, k)"));
  EXPECT_EQ("f32[N, 10]", type_of_y("input x: f32[N, 64]\ninput w: f32[10, 64]\ninput b: f32[10]\n"
                                    "y = Gemm(x, w, b) {transB=1}"));
  EXPECT_EQ("f32[N, S, S]", type_of_y("input a: f32[N, S, 8]\ninput b: f32[N, S, 8]\n"
                                      "y = Einsum(a, b) {equation=\"bid,bjd->bij\"}"));
  EXPECT_EQ("f32[B, S, 64]", type_of_y("input q: f32[B, S, 64]\ninput k: f32[B, T, 64]\n"
                                       "input v: f32[B, T, 64]\ny = Attention(q, k, v) "
                                       "{q_num_heads=4, kv_num_heads=4}",
                                       23));
}

TEST(LayerShapes, ReduceByAttributeAndByInput) {
  EXPECT_EQ("f32[N, 1, W]", type_of_y("input x: f32[N, H, W]\ny = ReduceMean(x) {axes=[1]}"));
  EXPECT_EQ("f32[N, W]", type_of_y("input x: f32[N, H, W]\nconst a: i64[1] = [-2]\n"
                                   "y = ReduceMean(x, a) {keepdims=0}",
                                   18));
  EXPECT_EQ("f32[?, ?, ?]",
            type_of_y("input x: f32[N, H, W]\ninput a: i64[K]\ny = ReduceSum(x, a)", 13));
}

TEST(LayerShapes, NameWhatDoesNotFit) {
  EXPECT_NE(std::string::npos,
            type_of_y("input x: f32[N, 5]\ninput w: f32[4, 3]\ny = MatMul(x, w)").find("5 and 4"));
  EXPECT_NE(std::string::npos,
            type_of_y("input x: f32[N, 4]\ny = Softmax(x) {axis=2}").find("axis 2"));
}

TEST(LayerTraits, StateWeightsAxesAndProducts) {
  const Tensor w = *Tensor::zeros(DType::kFloat32, {4, 3});
  InputInfo x, constant;
  x.present = constant.present = true;
  constant.constant = &w;
  Node node;
  const std::vector<InputInfo> weighted = {x, constant, constant}, product = {x, x};
  const auto trait = [&](const char* op, const std::vector<InputInfo>& inputs) {
    node.op_type = op;
    return find_op("", op)->quant.fn(node, inputs);
  };
  EXPECT_EQ(0, trait("Conv", weighted).weight_axis);
  EXPECT_EQ(1, trait("ConvTranspose", weighted).weight_axis);
  EXPECT_EQ(1, trait("MatMul", weighted).weight_axis);
  EXPECT_EQ(1, trait("Gemm", weighted).weight_axis);
  EXPECT_EQ(std::optional<size_t>(2), trait("Gemm", weighted).bias);
  node.set("transB", 1);
  EXPECT_EQ(0, trait("Gemm", weighted).weight_axis);
  EXPECT_EQ(QuantTrait::Kind::kProduct, trait("MatMul", product).kind);
  EXPECT_EQ(QuantTrait::Kind::kSameScale, trait("MaxPool", {x}).kind);
  EXPECT_EQ(QuantTrait::Kind::kElementwise, trait("AveragePool", {x}).kind);
  for (const OpDef& op : all_ops()) {
    const QuantTrait t = op.quant.fn(node, weighted);
    EXPECT_TRUE(t.kind != QuantTrait::Kind::kNone || !t.reason.empty()) << op.name;
  }
  EXPECT_EQ(Role::kStatistic, find_op("", "BatchNormalization")->roles.fn(node, 4));
  EXPECT_EQ(Role::kGain, find_op("", "LayerNormalization")->roles.fn(node, 1));
}

} // namespace
} // namespace octet::test
