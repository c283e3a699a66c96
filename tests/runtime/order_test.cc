// SPDX-License-Identifier: Apache-2.0
// What moves elements in the file and what really moves: Transposes left in the lowered graph, and
// the meaning of the graph on every instruction set.
#include "runtime/layer_net.h"

namespace octet {
namespace {

using test::Coding;
using test::expect_meaning;
using test::LayerNet;

constexpr Coding kGiven{.scale = 0.05F};
constexpr Coding kBetween{.scale = 0.04F};
constexpr Coding kLast{.scale = 0.06F};

int transposes(const Graph& graph) {
  const Lowered lowered = lower(test::simplified(graph)).value();
  int count = 0;
  for (const NodeId id : lowered.graph.nodes())
    count += lowered.graph.node(id).is("Transpose") ? 1 : 0;
  return count;
}

Attributes ints(const char* key, std::vector<int64_t> values) {
  Attributes a;
  a[key].value = std::move(values);
  return a;
}

Attributes one(const char* key, int64_t value) {
  Attributes a;
  a[key].value = value;
  return a;
}

ValueId list(LayerNet& net, std::vector<int64_t> v) {
  return net.constant(Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v));
}

class Orders : public ::testing::TestWithParam<bool> {
 protected:
  bool quantized() const { return GetParam(); }
  ValueId coded(ValueId x, const Coding& c) { return quantized() ? net.codes(x, c) : x; }
  /// A convolution of 3 x 3 that keeps the size.
  ValueId conv(ValueId x, int64_t in, int64_t out) {
    const ValueId w = quantized() ? net.weights({out, in, 3, 3}, 0.01F)
                                  : net.constant(net.random_tensor({out, in, 3, 3}, 0.3));
    return net.conv(x, w, {1, 1, 1, 1});
  }
  void check(ValueId y, int most_transposes) {
    const Graph g = net.done({y});
    EXPECT_EQ(transposes(g), most_transposes);
    std::vector<Tensor> inputs;
    for (const ValueId id : g.inputs())
      inputs.push_back(net.random_tensor(*g.value(id).type.static_shape()));
    // Behind codes a tie may go either way, and then as far as the next layer carries it.
    expect_meaning(g, inputs, quantized() ? 3 * kLast.scale : 2e-3);
  }

  LayerNet net{21};
};

TEST_P(Orders, ImagesThatTheFileHoldsChannelsLastAreNotMoved) {
  ValueId x =
      net.op("Transpose", {coded(net.input({2, 4, 5, 3}), kGiven)}, ints("perm", {0, 3, 1, 2}));
  x = coded(net.op("Relu", {conv(x, 3, 6)}), kBetween);
  x = conv(x, 6, 4);
  check(coded(net.op("Transpose", {x}, ints("perm", {0, 2, 3, 1})), kLast), 0);
}

TEST_P(Orders, ConcatsAndSplitsOfImagesStay) {
  const ValueId x = coded(net.input({2, 3, 4, 5}), kGiven);
  const ValueId a = coded(conv(x, 3, 4), kBetween), b = coded(conv(x, 3, 2), kBetween);
  const ValueId both = coded(net.op("Concat", {a, b, x}, one("axis", 1)), kLast);
  LayerNet& n = net;
  const ValueId left = n.op("Slice", {both, list(n, {0}), list(n, {4}), list(n, {1})});
  const ValueId padded = n.op("Pad", {left, list(n, {0, 0, 1, 0, 0, 0, 0, 2})});
  check(coded(conv(padded, 4, 3), kLast), 2);
}

TEST_P(Orders, HeadsOfDetectorsAreViews) {
  const ValueId x = coded(net.input({2, 3, 4, 5}), kGiven);
  const ValueId y = coded(conv(x, 3, 6), kBetween);
  const ValueId boxes = net.op("Reshape", {y, list(net, {2, 6, 20})});
  check(net.op("Transpose", {boxes}, ints("perm", {0, 2, 1})), 1);
}

TEST_P(Orders, AnchorsAreSplitFromChannels) {
  const ValueId x = coded(net.input({2, 3, 4, 5}), kGiven);
  const ValueId y = coded(conv(x, 3, 6), kBetween);
  const ValueId anchors = net.op("Reshape", {y, list(net, {2, 3, 2, 4, 5})});
  check(net.op("Transpose", {anchors}, ints("perm", {0, 3, 4, 1, 2})), 1);
}

TEST_P(Orders, AxesThatAreMergedAcrossTheChannelsAreMoved) {
  const ValueId x = coded(net.input({2, 3, 4, 5}), kGiven);
  const ValueId y = coded(conv(x, 3, 6), kBetween);
  check(net.op("Reshape", {y, list(net, {2, 24, 5})}), 2);
}

TEST_P(Orders, AxesThatComeAndGo) {
  const ValueId x = coded(net.input({2, 3, 1, 5}), kGiven);
  const ValueId y = coded(conv(x, 3, 6), kBetween);
  const ValueId line = net.op("Squeeze", {y, list(net, {2})});
  const ValueId back = net.op("Unsqueeze", {line, list(net, {2, 4})});
  const ValueId four = net.op("Squeeze", {back, list(net, {4})});
  check(coded(conv(four, 6, 2), kLast), 2);
}

TEST_P(Orders, ReductionsReadImagesAsTheyAre) {
  for (const bool keeps : {false, true})
    for (const char* op : {"ReduceMax", "ReduceMean", "ArgMax"}) {
      SCOPED_TRACE(op);
      const bool one_axis = std::string_view(op) == "ArgMax";
      for (const std::vector<int64_t>& axes :
           {std::vector<int64_t>{1}, {-1}, {2, 3}, {1, 2}, {0, -2}}) {
        if (one_axis && axes.size() > 1) continue;
        net = LayerNet(22);
        const ValueId x = coded(net.input({2, 3, 4, 5}), kGiven);
        ValueId y = conv(x, 3, 6);
        y = net.op("Tanh", {y});
        Attributes a = one_axis ? one("axis", axes[0]) : ints("axes", axes);
        a["keepdims"].value = int64_t{keeps ? 1 : 0};
        y = net.op(op, {y}, a);
        const Graph g = net.done({y});
        expect_meaning(g, {net.random_tensor({2, 3, 4, 5})}, 1e-3);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(FloatAndCodes, Orders, ::testing::Bool(), [](const auto& form) {
  return form.param ? "Codes" : "Float";
});

/// Before operator set 10 a Slice has attributes.
TEST(OrdersOfFloats, SlicesByAttributesStay) {
  LayerNet net(24, 9);
  const ValueId x = net.input({2, 3, 4, 5});
  const auto conv = [&](ValueId v, int64_t in, int64_t out) {
    return net.conv(v, net.constant(net.random_tensor({out, in, 3, 3}, 0.3)), {1, 1, 1, 1});
  };
  Attributes a = ints("starts", {1, -4});
  a["ends"].value = std::vector<int64_t>{5, 100};
  a["axes"].value = std::vector<int64_t>{1, 3};
  Attributes first = ints("starts", {0, 1});
  first["ends"].value = std::vector<int64_t>{1, 3};
  const ValueId part = net.op("Slice", {conv(x, 3, 6)}, a);
  const Graph g = net.done({net.op("Slice", {conv(part, 4, 3)}, first)});
  EXPECT_EQ(transposes(g), 2) << "in and out";
  expect_meaning(g, {net.random_tensor({2, 3, 4, 5})}, 2e-3);
}

TEST(OrdersOfCodes, CodesOfSeveralGridsAreJoinedOnTheGridOfTheResult) {
  LayerNet net(23);
  const ValueId a = net.codes(net.input({2, 3, 4, 5}), kGiven);
  const ValueId b = net.codes(net.input({2, 2, 4, 5}), {.scale = 0.03F, .zero = 7});
  Attributes axis = one("axis", 1);
  const Graph g = net.done({net.codes(net.op("Concat", {a, b}, axis), kLast)});
  const Lowered lowered = lower(g).value();
  int dequantized = 0;
  for (const NodeId id : lowered.graph.nodes())
    dequantized += lowered.graph.node(id).is("Dequantize", "octet.native") ? 1 : 0;
  EXPECT_EQ(dequantized, 1) << "the output alone";
  // A table rounds as Q of the number does: no code differs.
  expect_meaning(g, {net.random_tensor({2, 3, 4, 5}), net.random_tensor({2, 2, 4, 5})}, 1e-6);
}

} // namespace
} // namespace octet
