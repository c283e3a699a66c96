// SPDX-License-Identifier: Apache-2.0
// Float functions of elements: alone, in chains that become one Map, in NHWC order between
// convolutions, and between codes, where they become a table.
#include "runtime/layer_net.h"

#include "octet/graph_text.h"

namespace octet {
namespace {

using test::Coding;
using test::count_lowered;
using test::expect_meaning;
using test::inputs_of;
using test::LayerNet;

constexpr Coding kBefore{.scale = 0.05F};
constexpr Coding kAfter{.scale = 0.06F};

int count_nodes(const Graph& g, std::string_view op, std::string_view domain = "") {
  int n = 0;
  for (const NodeId id : g.nodes())
    n += g.node(id).is(op, domain) ? 1 : 0;
  return n;
}

/// Every node that runs is a program.
void expect_programs(const Graph& graph) {
  auto session = Session::create(graph);
  ASSERT_TRUE(session.ok()) << session.error().text();
  for (const PlannedNode& node : session->plan())
    EXPECT_EQ(node.kernel.substr(0, 4), "map ") << node.node << ": " << node.kernel;
}

Attributes floats(const std::vector<std::pair<std::string, float>>& values) {
  Attributes out;
  for (const auto& [key, value] : values)
    out[key].value = value;
  return out;
}

TEST(Elementwise, FunctionsOfOneTensor) {
  const std::vector<std::pair<std::string, Attributes>> functions = {
      {"HardSigmoid", {}},
      {"HardSigmoid", floats({{"alpha", 0.3F}, {"beta", -0.1F}})},
      {"HardSwish", {}},
      {"LeakyRelu", floats({{"alpha", 0.2F}})},
      {"Elu", floats({{"alpha", 1.5F}})},
      {"Selu", {}},
      {"Celu", {}},
      {"Celu", floats({{"alpha", 2.5F}})},
      {"Softplus", {}},
      {"Softsign", {}},
      {"Mish", {}},
      {"ThresholdedRelu", floats({{"alpha", 0.7F}})},
      {"Shrink", floats({{"lambd", 1.0F}, {"bias", 0.4F}})},
      {"Floor", {}},
      {"Ceil", {}},
      {"Round", {}},
      {"Sign", {}}};
  for (const auto& [op, attributes] : functions) {
    SCOPED_TRACE(op);
    LayerNet net(1, 18);
    const Graph g = net.done({net.op(op, {net.input({2, 3, 5, 7})}, attributes)});
    expect_programs(g);
    expect_meaning(g, inputs_of(net, g), 2e-6);
  }
}

TEST(Elementwise, LogOfPositiveNumbers) {
  LayerNet net(2);
  const ValueId x = net.op("Exp", {net.input({300})});
  const Graph g = net.done({net.op("Log", {x})});
  EXPECT_EQ(count_lowered(g, "Map"), 1);
  expect_meaning(g, inputs_of(net, g), 2e-6);
}

TEST(Elementwise, SlopesOfPRelu) {
  for (const Shape& slope : {Shape{}, Shape{1}, Shape{3, 1, 1}, Shape{1, 3, 1, 1}, Shape{7},
                             Shape{3, 5, 7}, Shape{2, 3, 5, 7}}) {
    for (const bool computed : {false, true}) {
      SCOPED_TRACE(to_string(slope));
      LayerNet net(3);
      const ValueId x = net.input({2, 3, 5, 7});
      const std::vector<Dim> dims(slope.begin(), slope.end());
      const ValueId s = computed ? net.input(dims) : net.constant(net.random_tensor(slope, 1));
      const Graph g = net.done({net.op("PRelu", {x, s})});
      expect_programs(g);
      expect_meaning(g, inputs_of(net, g), 1e-9);
    }
  }
}

TEST(Elementwise, SlopesThatAreLargerThanX) {
  for (const auto& [slope, y] : std::vector<std::pair<Shape, Shape>>{
           {{4, 1, 3, 1}, {4, 2, 3, 7}}, {{4, 2, 3, 7}, {4, 2, 3, 7}}, {{2, 5, 7}, {2, 5, 7}}}) {
    SCOPED_TRACE(to_string(slope));
    LayerNet net(3);
    const ValueId x =
        net.input(slope.size() == 3 ? std::vector<Dim>{2, 1, 7} : std::vector<Dim>{2, 3, 7});
    const Graph g = net.done(
        {net.op("Neg", {net.op("PRelu", {x, net.constant(net.random_tensor(slope, 1))})})});
    expect_meaning(g, inputs_of(net, g), 1e-9);
    auto session = Session::create(g).value();
    const auto outputs = session.run(inputs_of(net, g)).value();
    EXPECT_EQ(outputs.at(0).shape(), y);
  }
}

TEST(Elementwise, BatchNormalizationAlone) {
  for (const bool image : {false, true}) {
    LayerNet net(4);
    ValueId x = net.input({2, 3, 5, 7});
    if (image) x = net.op("MaxPool", {x}, {{"kernel_shape", {std::vector<int64_t>{2, 2}}}});
    const auto channels = [&](double low) {
      Tensor t = net.random_tensor({3}, 1);
      for (float& v : t.mutable_data<float>())
        v += static_cast<float>(low);
      return net.constant(std::move(t));
    };
    const Graph g = net.done(
        {net.op("BatchNormalization", {x, channels(0), channels(0), channels(0), channels(1.5)})});
    EXPECT_EQ(count_lowered(g, "Map"), 1);
    expect_meaning(g, inputs_of(net, g), 1e-5);
  }
}

TEST(Elementwise, AChainIsOneMap) {
  const Graph g = parse_graph(R"(graph g opset(""=17)
input x: f32[2, 3, 40]
input r: f32[2, 3, 40]
const scale: f32[3, 1] = [0.5, -2, 3]
const shift: f32[40] = [)" +
                              [] {
                                std::string numbers = "0";
                                for (int i = 1; i < 40; ++i)
                                  numbers += ", " + std::to_string(i * 0.1);
                                return numbers;
                              }() +
                              R"(]
const low: f32[] = [-3]
const high: f32[] = [4]
s = Sigmoid(x)
silu = Mul(x, s)
scaled = Mul(silu, scale)
shifted = Add(scaled, shift)
sum = Add(shifted, r)
y = Clip(sum, low, high)
output y: f32[2, 3, 40]
)")
                      .value();
  Graph simple = g;
  ASSERT_TRUE(simplify(simple).ok());
  const Lowered lowered = lower(simple).value();
  ASSERT_EQ(lowered.graph.nodes().size(), 1U);
  const Node& map = lowered.graph.node(lowered.graph.nodes()[0]);
  EXPECT_EQ(map.attr_string("program", ""),
            "silu x0; mul t0 x1; add t1 x2; add t2 x3; clamp t3 c0 c1");
  LayerNet net(5);
  test::expect_fused_bits(g, inputs_of(net, g));
}

/// As those of files do.
TEST(Elementwise, ConstantsMayLieAnywhere) {
  LayerNet net(15);
  const auto odd = [&](const Shape& shape) {
    const Tensor t = net.random_tensor(shape);
    const std::shared_ptr<Buffer> memory = Buffer::allocate(t.bytes().size() + 1);
    std::copy(t.bytes().begin(), t.bytes().end(), memory->writable() + 1);
    return net.constant(Tensor::view(DType::kFloat32, shape, memory, 1).value());
  };
  const ValueId x = net.op("Clip", {net.input({1, 2, 3, 4}), odd({}), ValueId{}});
  const ValueId y = net.op("MaxPool", {net.op("Add", {x, odd({1})})},
                           {{"kernel_shape", {std::vector<int64_t>{2, 2}}}});
  const Graph g = net.done({net.op("PRelu", {net.op("Mul", {y, odd({2, 1, 1})}), odd({2, 1, 1})})});
  test::expect_fused_bits(g, inputs_of(net, g));
}

TEST(Elementwise, WhatOthersReadStays) {
  const Graph g = parse_graph(R"(graph g opset(""=17)
input x: f32[4, 5]
a = Relu(x)
b = Neg(a)
c = Abs(b)
t = Transpose(a)
output c: f32[4, 5]
output b: f32[4, 5]
output t: f32[5, 4]
)")
                      .value();
  const Graph lowered = lower(g).value().graph;
  EXPECT_EQ(count_nodes(lowered, "Relu"), 1);
  EXPECT_EQ(count_nodes(lowered, "Neg"), 1);
  EXPECT_EQ(count_nodes(lowered, "Abs"), 1);
  EXPECT_EQ(count_nodes(lowered, "Map", "octet.native"), 0);
  LayerNet net(6);
  test::expect_fused_bits(g, inputs_of(net, g));
}

/// Two ways from one value that meet again.
TEST(Elementwise, ADiamondIsOneMap) {
  LayerNet net(7);
  const ValueId x = net.op("Add", {net.input({6, 9}), net.input({6, 9})});
  const ValueId y = net.op("Mul", {net.op("Tanh", {x}), net.op("Sub", {x, net.op("Exp", {x})})});
  const Graph g = net.done({y});
  const Graph lowered = lower(g).value().graph;
  EXPECT_EQ(lowered.nodes().size(), 1U);
  EXPECT_EQ(count_nodes(lowered, "Map", "octet.native"), 1);
  test::expect_fused_bits(g, inputs_of(net, g));
}

TEST(Elementwise, WhatBroadcastsIsNotComputedAgain) {
  LayerNet net(8);
  const ValueId gate = net.op("Sigmoid", {net.input({2, 3, 1, 1})});
  const Graph g = net.done({net.op("Mul", {net.input({2, 3, 4, 5}), gate})});
  const Graph lowered = lower(g).value().graph;
  EXPECT_EQ(count_nodes(lowered, "Sigmoid", "octet.native"), 1);
  test::expect_fused_bits(g, inputs_of(net, g));
}

TEST(Elementwise, LongChainsAreCutAtTheLimits) {
  LayerNet net(9);
  std::vector<ValueId> inputs;
  inputs.reserve(9);
  for (int i = 0; i < 9; ++i)
    inputs.push_back(net.input({33}));
  ValueId y = inputs[0];
  for (int i = 1; i < 60; ++i)
    y = net.op(i % 3 == 0   ? "Mul"
               : i % 3 == 1 ? "Add"
                            : "Sub",
               {y, i % 4 == 0 ? inputs[static_cast<size_t>(i % 9)]
                              : net.constant(Tensor::scalar(0.01F * static_cast<float>(i)))});
  const Graph g = net.done({net.op("Tanh", {y})});
  const Graph lowered = lower(g).value().graph;
  EXPECT_GE(lowered.nodes().size(), 3U);
  EXPECT_LE(lowered.nodes().size(), 8U);
  test::expect_fused_bits(g, inputs_of(net, g));
}

ValueId float_conv(LayerNet& net, ValueId x, int64_t from, int64_t to, int64_t stride = 1) {
  const ValueId w = net.constant(net.random_tensor({to, from, 3, 3}, 0.1));
  return net.op("Conv", {x, w},
                {{"pads", {std::vector<int64_t>{1, 1, 1, 1}}},
                 {"strides", {std::vector<int64_t>{stride, stride}}}});
}

/// What batch normalization leaves behind a quantized tensor.
TEST(Elementwise, ALineForEachChannelStaysInCodes) {
  for (const bool image : {false, true}) {
    SCOPED_TRACE(image);
    LayerNet net(21);
    ValueId x = net.input({2, 5, 6, 7});
    const Shape channels = image ? Shape{5, 1, 1} : Shape{7};
    if (image) x = float_conv(net, x, 5, 5);
    x = net.codes(x, {0.02F, 3});
    x = net.op("Mul", {x, net.constant(net.random_tensor(channels, 1))});
    x = net.op("Relu", {net.op("Add", {x, net.constant(net.random_tensor(channels, 1))})});
    x = net.codes(x, {0.01F, -128});
    const Graph g = net.done({image ? float_conv(net, x, 5, 3) : x});
    const Graph lowered = lower(g).value().graph;
    EXPECT_EQ(count_nodes(lowered, "QMap", "octet.native"), 1);
    EXPECT_EQ(count_nodes(lowered, "Map", "octet.native"), 0);
    test::expect_fused_bits(g, inputs_of(net, g));
    const auto session = Session::create(g);
    ASSERT_TRUE(session.ok()) << session.error().text();
    int lines = 0;
    for (const PlannedNode& node : session->plan())
      lines += node.kernel.substr(0, 7) == "affine " ? 1 : 0;
    EXPECT_EQ(lines, 1);
  }
}

/// Two ways from one tensor of codes that meet again before Q.
TEST(Elementwise, ADiamondOfCodesIsATable) {
  LayerNet net(22);
  ValueId x = net.codes(net.input({3, 40}), {0.05F, 7});
  const ValueId gate =
      net.op("Clip", {net.op("Add", {x, net.constant(Tensor::scalar(3.0F))}),
                      net.constant(Tensor::scalar(0.0F)), net.constant(Tensor::scalar(6.0F))});
  x = net.op("Div", {net.op("Mul", {x, gate}), net.constant(Tensor::scalar(6.0F))});
  const Graph g = net.done({net.codes(x, {0.03F, -90})});
  const Graph lowered = lower(g).value().graph;
  EXPECT_EQ(count_nodes(lowered, "QTable", "octet.native"), 1);
  EXPECT_EQ(count_nodes(lowered, "Map", "octet.native"), 0);
  test::expect_fused_bits(g, inputs_of(net, g));
}

/// Who else reads the numbers behind codes, or the numbers before them, still has them.
TEST(Elementwise, CodesThatOthersReadAsNumbers) {
  LayerNet net(23);
  const ValueId a = net.codes(net.input({4, 6}), {0.05F, 7});
  const ValueId b = net.codes(net.input({6}), {0.02F, 0});
  const ValueId sum = net.op("Relu", {net.op("Add", {a, net.op("Tanh", {b})})});
  const ValueId both = net.op("Mul", {net.codes(sum, {0.1F, -10}), net.codes(sum, {0.2F, -20})});
  const Graph g = net.done({net.op("ReduceSum", {a}), both, net.codes(both, {0.3F, 0})});
  test::expect_fused_bits(g, inputs_of(net, g));
}

/// Random functions of random operands that broadcast; every value may be read again.
TEST(Elementwise, RandomGraphsHaveTheSameBitsJoined) {
  constexpr const char* kOne[] = {"Relu", "Sigmoid", "Tanh",      "Neg", "Abs",     "HardSwish",
                                  "Elu",  "Floor",   "LeakyRelu", "Erf", "Softplus"};
  constexpr const char* kTwo[] = {"Add", "Sub", "Mul", "Min", "Max", "Div"};
  const Shape shapes[] = {{2, 3, 4, 5}, {3, 1, 1}, {5}, {}, {2, 1, 4, 1}, {1, 3, 4, 5}};
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Philox random(seed);
    LayerNet net(seed);
    std::vector<ValueId> values;
    for (int i = 0; i < 3; ++i) {
      const Shape& shape = shapes[i == 0 ? 0 : random.below(std::size(shapes))];
      values.push_back(net.input(std::vector<Dim>(shape.begin(), shape.end())));
    }
    for (int i = 0; i < 12; ++i) {
      const auto any = [&] {
        return values[values.size() - 1 -
                      static_cast<size_t>(
                          random.below(std::min<int64_t>(4, static_cast<int64_t>(values.size()))))];
      };
      if (random.below(2) == 0)
        values.push_back(net.op(kOne[random.below(std::size(kOne))], {any()}));
      else if (random.below(3) == 0)
        values.push_back(net.op(
            kTwo[random.below(std::size(kTwo))],
            {any(), net.constant(net.random_tensor(shapes[random.below(std::size(shapes))], 2))}));
      else
        values.push_back(net.op(kTwo[random.below(std::size(kTwo))], {any(), any()}));
      if (random.below(3) == 0)
        values.push_back(net.codes(values.back(), {0.05F, random.below(256) - 128}));
    }
    std::vector<ValueId> outputs = {values.back()};
    if (random.below(2) == 0) outputs.push_back(values[values.size() - 3]);
    const Graph g = net.done(outputs);
    test::expect_fused_bits(g, inputs_of(net, g));
    if (HasFailure()) return;
  }
}

/// Between convolutions images stay NHWC, whatever is computed of their elements.
TEST(Elementwise, StaysInTheOrderOfImages) {
  for (const bool open : {false, true}) {
    LayerNet net(10, 18);
    const Dim n = open ? Dim::symbol("N") : Dim(2);
    const Dim h = open ? Dim::symbol("H") : Dim(6);
    // Strides leave the size of what was open unknown.
    ValueId x = float_conv(net, net.input({n, 2, h, 13}), 2, 5, 2);
    const ValueId shortcut = x;
    x = net.op("HardSwish", {x});
    x = net.op("Mul", {x, net.constant(net.random_tensor({5, 1, 1}, 1))});
    x = net.op("Add", {net.constant(net.random_tensor({1, 5, 1, 1}, 1)), x});
    x = net.op("PRelu", {x, net.constant(net.random_tensor({5, 1, 1}, 1))});
    x = net.op("Add", {x, shortcut});
    const ValueId gate = net.op("HardSigmoid", {net.op("GlobalAveragePool", {x})});
    x = net.op("Mul", {x, gate});
    x = net.op("Div", {x, net.constant(net.random_tensor({7}, 1))});
    const Graph g = net.done({float_conv(net, x, 5, 3)});
    const Graph lowered = lower(g).value().graph;
    EXPECT_EQ(count_nodes(lowered, "Transpose"), 2);
    // Before, of and behind the gate.
    EXPECT_EQ(count_nodes(lowered, "Map", "octet.native"), 3);
    for (const int64_t size : {6, 9}) {
      if (!open && size != 6) continue;
      const std::vector<Tensor> inputs = {net.random_tensor({2, 2, size, 13})};
      test::expect_fused_bits(g, inputs);
      expect_meaning(g, inputs, 1e-3);
    }
  }
}

TEST(Elementwise, ImagesInBothOrders) {
  LayerNet net(11);
  const ValueId image = float_conv(net, net.input({2, 2, 4, 4}), 2, 4);
  const ValueId plain = net.input({2, 4, 4, 4});
  const ValueId sum = net.op("Add", {plain, image});
  const Graph g = net.done({net.op("Mul", {sum, net.constant(net.random_tensor({4, 4}, 1))}),
                            net.op("Sub", {image, net.input({4, 1, 1})}),
                            net.op("Add", {net.op("Flatten", {image}), net.input({2, 64})})});
  const std::vector<Tensor> inputs = inputs_of(net, g);
  test::expect_fused_bits(g, inputs);
  expect_meaning(g, inputs, 1e-4);
}

TEST(Elementwise, ChainsBetweenCodesAreTables) {
  for (const bool open : {false, true}) {
    LayerNet net(12, 18);
    ValueId x = open ? net.input({Dim::unknown(), Dim::unknown()}) : net.input({3, 50});
    x = net.codes(x, kBefore);
    x = net.codes(net.op("Mul", {x, net.op("Sigmoid", {x})}), kAfter); // SiLU
    const ValueId moved = net.op("Add", {x, net.constant(Tensor::scalar(3.0F))});
    const ValueId gate = net.op("Mul", {x, net.clip(moved, 0, 6)}); // hard swish as six nodes
    x = net.codes(net.op("Div", {gate, net.constant(Tensor::of<float>({1, 1}, {6.0F}))}), kBefore);
    x = net.codes(net.op("Relu", {net.op("Tanh", {x})}), kAfter);
    const Graph g = net.done({x});
    EXPECT_EQ(count_lowered(g, "QTable"), 1) << "of chains of one tensor behind one another";
    EXPECT_EQ(count_lowered(g, "Map"), 0);
    expect_meaning(g, {net.random_tensor({3, 50})}, 1e-9);
  }
}

/// Its parameters are numbers, but it is not evaluated on codes in a row.
TEST(Elementwise, BatchNormalizationOfOneChannelBetweenCodes) {
  LayerNet net(14);
  const ValueId x = net.codes(net.input({3, 1, 7}), kBefore);
  const auto number = [&](float v) { return net.constant(Tensor::of<float>({1}, {v})); };
  const ValueId y =
      net.op("BatchNormalization", {x, number(1.5F), number(0.5F), number(0.25F), number(2.0F)});
  const Graph g = net.done({net.codes(y, kAfter)});
  expect_meaning(g, inputs_of(net, g), kAfter.scale);
}

TEST(Elementwise, ChainsThatOthersReadAreNoTables) {
  LayerNet net(13);
  const ValueId x = net.codes(net.input({3, 50}), kBefore);
  const ValueId s = net.op("Sigmoid", {x});
  const ValueId y = net.codes(net.op("Mul", {x, s}), kAfter);
  const Graph g = net.done({y, s});
  EXPECT_EQ(count_lowered(g, "QTable"), 0);
  expect_meaning(g, inputs_of(net, g), kAfter.scale);
}

} // namespace
} // namespace octet
