// SPDX-License-Identifier: Apache-2.0
// One plan for all sizes: a context that is given other sizes in random order has the bits that a
// fresh session has for each, and makes no second plan.
#include <algorithm>
#include <numeric>

#include "runtime/bert_graphs.h"
#include "runtime/layer_net.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

using test::LayerNet;
using Inputs = std::vector<Tensor>;

Attribute whole(int64_t value) {
  Attribute a;
  a.value = value;
  return a;
}

Attribute list(std::vector<int64_t> values) {
  Attribute a;
  a.value = std::move(values);
  return a;
}

Attribute word(std::string value) {
  Attribute a;
  a.value = std::move(value);
  return a;
}

/// Networks over images of any height and width, some of whose layers compute in codes.
class ImageNet {
 public:
  explicit ImageNet(uint64_t seed) : net_(seed), random_(seed + 1000) {}

  Graph build(int layers) {
    ValueId x = net_.input({Dim::symbol("N"), 3, Dim::symbol("H"), Dim::symbol("W")});
    x = conv(x, 8, 3, 2);
    ValueId middle = x;
    for (int i = 0; i < layers; ++i) {
      if (i == layers / 2) middle = x;
      x = layer(x);
    }
    const ValueId pooled = net_.op("GlobalAveragePool", {x});
    const ValueId flat = net_.op("Flatten", {pooled});
    const ValueId last = net_.op("MatMul", {flat, net_.constant(net_.random_tensor({8, 5}, 1))});
    return net_.done({x, net_.op("Softmax", {last}), middle, net_.op("Shape", {x})});
  }

 private:
  ValueId ints(const std::vector<int64_t>& values) {
    return net_.constant(Tensor::of<int64_t>({std::ssize(values)}, values));
  }
  ValueId number(int64_t value) { return net_.constant(Tensor::scalar(value)); }
  ValueId floats(const std::vector<float>& values) {
    return net_.constant(Tensor::of<float>({std::ssize(values)}, values));
  }
  /// One extent of x, [1].
  ValueId extent(ValueId x, int64_t axis) {
    return net_.op("Gather", {net_.op("Shape", {x}), ints({axis})});
  }
  ValueId conv(ValueId x, int64_t channels, int64_t kernel, int64_t stride, int64_t group = 1) {
    const int64_t in = x.index == 0 ? 3 : 8, pad = kernel / 2;
    const Shape shape{channels, in / group, kernel, kernel};
    ValueId w;
    if (random_.below(3) == 0) {
      x = net_.codes(x, {.scale = 0.05F});
      w = net_.weights(shape, 0.004F);
    } else {
      w = net_.constant(net_.random_tensor(shape, 0.3));
    }
    return net_.op("Conv", {x, w},
                   {{"strides", list({stride, stride})},
                    {"pads", list({pad, pad, pad, pad})},
                    {"group", whole(group)}});
  }
  ValueId pool(const std::string& op, ValueId x, int64_t ceil) {
    return net_.op(op, {x},
                   {{"kernel_shape", list({3, 3})},
                    {"strides", list({2, 2})},
                    {"pads", list({1, 1, 1, 1})},
                    {"ceil_mode", whole(ceil)}});
  }
  /// Half as many rows, an odd one left out; the number is computed.
  ValueId upper_half(ValueId x) {
    const ValueId half = net_.op("Div", {extent(x, 2), ints({2})});
    return net_.op("Slice", {x, ints({0}), half, ints({2})});
  }
  ValueId layer(ValueId x) {
    switch (random_.below(13)) {
    case 0:
      return conv(x, 8, 3, 1 + random_.below(2));
    case 1:
      return conv(x, 8, 3, 1, 8);
    case 2:
      return net_.op("Relu", {conv(x, 8, 1, 1)});
    case 3:
      return net_.op("HardSwish", {x});
    case 4:
      return pool("MaxPool", x, random_.below(2));
    case 5:
      return pool("AveragePool", x, random_.below(2));
    case 6:
      return net_.op("Add", {x, net_.op("Sigmoid", {conv(x, 8, 3, 1)})});
    case 7: { // back to the size before
      const ValueId small = pool("MaxPool", x, 0);
      const ValueId sizes = net_.op("Concat", {extent(x, 0), ints({8}), extent(x, 2), extent(x, 3)},
                                    {{"axis", whole(0)}});
      return net_.op("Resize", {small, ValueId{}, ValueId{}, sizes},
                     {{"mode", word(random_.below(2) == 0 ? "nearest" : "linear")}});
    }
    case 8: { // weights of channels
      const ValueId squeezed = net_.op("GlobalAveragePool", {x});
      return net_.op("Mul", {x, net_.op("Sigmoid", {conv(squeezed, 8, 1, 1)})});
    }
    case 9: { // attention over places
      const ValueId flat = net_.op("Reshape", {x, ints({0, 8, -1})});
      const ValueId turned = net_.op("Transpose", {flat}, {{"perm", list({0, 2, 1})}});
      const ValueId scores = net_.op("Softmax", {net_.op("MatMul", {flat, turned})});
      const ValueId out = net_.op("MatMul", {scores, flat});
      return net_.op("Reshape", {out, net_.op("Shape", {x})});
    }
    case 10:
      return upper_half(net_.op("Concat", {x, x}, {{"axis", whole(2)}}));
    case 11: { // a ramp along each row
      const ValueId columns = net_.op("Squeeze", {extent(x, 3), ints({0})});
      const ValueId ramp = net_.op("Range", {number(0), columns, number(1)});
      const ValueId wide = net_.op("Cast", {ramp}, {{"to", whole(1)}});
      return net_.op("Add", {x, net_.op("Mul", {wide, floats({0.01F})})});
    }
    default:
      return net_.op("Pad", {x, ints({0, 0, 1, 2, 0, 0, 0, 1})},
                     {{"mode", word(random_.below(2) == 0 ? "reflect" : "constant")}});
    }
  }

  LayerNet net_;
  Philox random_;
};

Tensor noise(Shape shape, uint64_t seed) {
  return LayerNet(seed).random_tensor(std::move(shape), 2);
}

void expect_same(std::span<const Tensor> have, std::span<const Tensor> want) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i) {
    EXPECT_EQ(to_string(have[i].shape()), to_string(want[i].shape())) << "output " << i;
    EXPECT_TRUE(have[i].identical(want[i])) << "output " << i;
  }
}

/// What a session gives that has seen nothing else.
std::vector<Tensor> fresh(const Graph& graph, const SessionOptions& options, const Inputs& inputs) {
  auto session = Session::create(graph, options);
  EXPECT_TRUE(session.ok()) << session.error().text();
  auto out = session->run(inputs);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? *std::move(out) : std::vector<Tensor>{};
}

void shuffle(auto& items, Philox& random) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
}

TEST(Extents, RandomNetworksAtRandomSizes) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = ImageNet(seed).build(4 + static_cast<int>(seed % 7));
    const SessionOptions options{.threads = 1 + static_cast<int>(seed % 2)};
    const auto session = Session::create(graph, options);
    ASSERT_TRUE(session.ok()) << session.error().text();
    SessionContext context = session->context();
    Philox random(seed);
    for (int i = 0; i < 12; ++i) {
      const Shape shape{1 + random.below(2), 3, 64 + random.below(50), 64 + random.below(50)};
      const Inputs inputs = {noise(shape, seed + static_cast<uint64_t>(i))};
      const auto have = context.run(inputs);
      ASSERT_TRUE(have.ok()) << have.error().text() << print(graph);
      expect_same(*have, fresh(graph, options, inputs));
    }
    EXPECT_EQ(context.plan_counts().plans, 1);
    ASSERT_FALSE(testing::Test::HasFailure()) << print(graph);
  }
}

TEST(Extents, FiftyImageSizes) {
  const Graph graph = ImageNet(5).build(12);
  const auto session = Session::create(graph, {.threads = 1}).value();
  SessionContext context = session.context();
  ASSERT_TRUE(context.reserve(std::vector<Shape>{{1, 3, 160, 160}}).ok());
  const size_t arena_bytes = context.arena_bytes();
  const int64_t layouts = context.plan_counts().layouts;
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < 50; ++i)
    shapes.push_back({1, 3, 160 - i, 160 - 7 * i % 50});
  Philox random(3);
  shuffle(shapes, random);
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(to_string(shape));
    const Inputs inputs = {noise(shape, 1)};
    const auto have = context.run(inputs);
    ASSERT_TRUE(have.ok()) << have.error().text();
    expect_same(*have, fresh(graph, {.threads = 1}, inputs));
  }
  EXPECT_EQ(context.plan_counts().plans, 1);
  EXPECT_EQ(context.plan_counts().bindings, 51);
  EXPECT_EQ(context.plan_counts().layouts, layouts);
  EXPECT_EQ(context.arena_bytes(), arena_bytes);
}

Inputs sentence(int64_t batch, int64_t length, uint64_t seed) {
  Philox random(seed);
  Inputs out;
  for (const int64_t words : {50, 2, 2}) {
    std::vector<int64_t> ids(static_cast<size_t>(batch * length));
    for (int64_t& id : ids)
      id = random.below(words);
    out.push_back(Tensor::of<int64_t>({batch, length}, ids));
  }
  return out;
}

TEST(Extents, TwoHundredLengthsOfABert) {
  for (const bool quantized : {false, true}) {
    SCOPED_TRACE(quantized);
    const Graph graph =
        test::BertBuilder({.quantized = quantized, .layers = 1, .positions = 200}).build();
    const auto session = Session::create(graph, {.threads = 1}).value();
    SessionContext context = session.context();
    const Shape largest{2, 200};
    ASSERT_TRUE(context.reserve(std::vector<Shape>(3, largest)).ok());
    const size_t arena_bytes = context.arena_bytes();
    std::vector<int64_t> lengths(200);
    std::iota(lengths.begin(), lengths.end(), 1);
    Philox random(7);
    shuffle(lengths, random);
    for (const int64_t length : lengths) {
      SCOPED_TRACE(length);
      const Inputs inputs = sentence(1 + length % 2, length, static_cast<uint64_t>(length));
      const auto have = context.run(inputs);
      ASSERT_TRUE(have.ok()) << have.error().text();
      expect_same(*have, fresh(graph, {.threads = 1}, inputs));
    }
    EXPECT_EQ(context.plan_counts().plans, 1);
    EXPECT_EQ(context.arena_bytes(), arena_bytes);
  }
}

/// Sizes that were bound lately cost nothing, whichever way the outputs go.
TEST(Extents, TheLastSizesAreKept) {
  const Graph graph = ImageNet(2).build(6);
  const auto session = Session::create(graph, {.threads = 1}).value();
  SessionContext context = session.context();
  const auto tap = [](size_t, const Tensor&) { return ok_status(); };
  for (int round = 0; round < 3; ++round)
    for (const int64_t rows : {80, 96, 70}) {
      const Inputs inputs = {noise({1, 3, rows, 64}, 1)};
      ASSERT_TRUE(context.run(inputs).ok());
      ASSERT_TRUE(context.stream(inputs, tap).ok());
    }
  EXPECT_EQ(context.plan_counts().plans, 1);
  EXPECT_EQ(context.plan_counts().bindings, 6);
}

/// Memory grows with the sizes that come, and what ran before runs again.
TEST(Extents, LargerAfterSmaller) {
  const Graph graph = ImageNet(8).build(8);
  const auto session = Session::create(graph, {.threads = 2}).value();
  SessionContext context = session.context();
  size_t before = 0;
  for (const int64_t size : {64, 80, 128, 200}) {
    for (const int64_t again : {size, int64_t{64}}) {
      const Inputs inputs = {noise({1, 3, again, again}, 1)};
      const auto have = context.run(inputs);
      ASSERT_TRUE(have.ok()) << have.error().text();
      expect_same(*have, fresh(graph, {.threads = 2}, inputs));
    }
    EXPECT_GT(context.arena_bytes(), before);
    before = context.arena_bytes();
  }
}

/// An error leaves a context that runs, at sizes of before and at others.
TEST(Extents, SizesThatDoNotFit) {
  const auto graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, A]\ninput y: f32[M, B]\n"
                                 "p = Exp(x)\nq = MatMul(p, y) \"product\"\nr = Neg(q)\n"
                                 "output r: f32[*]\noutput p: f32[*]\n");
  const auto session = Session::create(*graph, {.threads = 1}).value();
  SessionContext context = session.context();
  const auto inputs = [](int64_t n, int64_t a, int64_t m, int64_t b) {
    return Inputs{noise({n, a}, 1), noise({m, b}, 2)};
  };
  for (int round = 0; round < 2; ++round) {
    for (const Inputs& right : {inputs(4, 6, 6, 3), inputs(5, 2, 2, 7), inputs(0, 3, 3, 4),
                                inputs(3, 0, 0, 4), inputs(9, 8, 8, 1)}) {
      const auto have = context.run(right);
      ASSERT_TRUE(have.ok()) << have.error().text();
      expect_same(*have, fresh(*graph, {.threads = 1}, right));
      const auto wrong = context.run(inputs(4, 6, 7, 3 + round));
      ASSERT_FALSE(wrong.ok());
      EXPECT_NE(wrong.error().text().find("product"), std::string::npos) << wrong.error().text();
    }
  }
  EXPECT_EQ(context.plan_counts().plans, 1);
}

/// Sizes that data tells, behind sizes of inputs that change: one plan for what runs first, and one
/// for each part behind data.
TEST(Extents, BehindData) {
  const auto graph = parse_graph(
      "graph g opset(\"\"=17)\ninput x: f32[N, M]\nconst a: i64[1] = [0]\nconst one: i64[] = [1]\n"
      "h = Neg(x)\nr = Relu(h)\ns = ReduceMax(r) {axes=[1], keepdims=0}\ni = NonZero(s)\n"
      "j = Squeeze(i, a)\ng = Gather(h, j)\nt = Transpose(g) {perm=[1, 0]}\nk = Softmax(t)\n"
      "d = Shape(x)\ne = Gather(d, one)\nf = Cast(e) {to=1}\ny = Mul(k, f)\noutput y: f32[*]\n"
      "output r: f32[*]\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto session = Session::create(*graph, {.threads = 1}).value();
  SessionContext context = session.context();
  Philox random(5);
  for (int i = 0; i < 40; ++i) {
    const Inputs inputs = {
        noise({random.below(20), 1 + random.below(4)}, static_cast<uint64_t>(i % 7))};
    const auto have = context.run(inputs);
    ASSERT_TRUE(have.ok()) << have.error().text();
    expect_same(*have, fresh(*graph, {.threads = 1}, inputs));
  }
  EXPECT_EQ(context.plan_counts().plans, 2);
}

} // namespace
} // namespace octet
