// SPDX-License-Identifier: Apache-2.0
// Convolutions, transposed ones and pools of floats: a kernel takes each, has the bits of the lowered
// graph on every instruction set, and the numbers of the file.
#include <limits>

#include "runtime/layer_net.h"

#include "octet/graph_text.h"

namespace octet::test {
namespace {

using Ints = std::vector<int64_t>;

Attributes attributes_of(const std::vector<std::pair<std::string, Ints>>& lists,
                         const std::string& auto_pad = {}) {
  Attributes a;
  for (const auto& [key, values] : lists)
    a[key].value = values;
  if (!auto_pad.empty()) a["auto_pad"].value = auto_pad;
  return a;
}

/// No window runs by reference, and what runs is right but for less than `step`.
void check(const Graph& graph, const std::vector<Tensor>& inputs, double step = 1e-4) {
  auto session = Session::create(graph);
  ASSERT_TRUE(session.ok()) << session.error().text();
  for (const auto& node : session->plan())
    EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
  expect_meaning(graph, inputs, step);
}

/// One operator on float weights, batch 2.
struct Case {
  const char* op;
  Shape x, w;
  Attributes attributes;
  int64_t group = 1;
};

std::vector<Case> products() {
  return {
      {"Conv",
       {2, 6, 9, 7},
       {6, 1, 3, 3},
       attributes_of({{"pads", {1, 0, 2, 1}}, {"strides", {2, 1}}}),
       6},
      {"Conv", {2, 4, 8, 9}, {12, 1, 3, 2}, attributes_of({{"dilations", {2, 3}}}), 4},
      {"Conv",
       {2, 8, 7, 9},
       {12, 2, 3, 3},
       attributes_of({{"strides", {1, 2}}, {"dilations", {2, 1}}}, "SAME_LOWER"),
       4},
      {"Conv",
       {2, 5, 17},
       {7, 5, 4},
       attributes_of({{"pads", {2, 1}}, {"strides", {2}}, {"dilations", {2}}})},
      {"Conv", {2, 6, 12}, {6, 1, 3}, attributes_of({}, "SAME_UPPER"), 6},
      {"ConvTranspose",
       {2, 5, 4, 3},
       {5, 7, 3, 3},
       attributes_of({{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}, {"output_padding", {1, 0}}})},
      {"ConvTranspose",
       {2, 6, 4, 3},
       {6, 2, 2, 4},
       attributes_of({{"strides", {3, 1}}, {"dilations", {1, 2}}, {"pads", {0, 2, 1, 1}}}),
       3},
      {"ConvTranspose",
       {2, 3, 4, 5},
       {3, 2, 2, 3},
       attributes_of({{"strides", {2, 3}}, {"output_shape", {9, 12}}}, "SAME_LOWER")},
      {"ConvTranspose",
       {2, 3, 4, 5},
       {3, 2, 3, 3},
       attributes_of({{"strides", {2, 2}}}, "SAME_UPPER")},
      {"ConvTranspose",
       {2, 4, 9},
       {4, 3, 5},
       attributes_of({{"strides", {3}}, {"pads", {1, 2}}, {"output_padding", {2}}})},
      {"ConvTranspose",
       {2, 4, 9},
       {4, 1, 4},
       attributes_of({{"strides", {2}}, {"pads", {1, 1}}}),
       4},
      {"ConvTranspose", {2, 3, 3, 2, 4}, {3, 4, 2, 2, 2}, attributes_of({{"strides", {2, 2, 2}}})},
      {"ConvTranspose",
       {1, 4, 2, 3, 3},
       {4, 2, 3, 3, 2},
       attributes_of({{"strides", {3, 2, 1}}, {"pads", {0, 1, 0, 0, 1, 1}}})},
      {"ConvTranspose",
       {2, 3, 2, 2},
       {3, 4, 1, 2},
       attributes_of({{"strides", {3, 2}}, {"pads", {0, 1, 0, 0}}})},
  };
}

TEST(Windows, OfFloatProducts) {
  int number = 0;
  for (const Case& c : products()) {
    SCOPED_TRACE(testing::Message() << c.op << ", case " << number++);
    LayerNet net(31);
    const ValueId x = net.input({c.x.begin(), c.x.end()});
    Attributes a = c.attributes;
    a["group"].value = c.group;
    const int64_t out = std::string(c.op) == "Conv" ? c.w[0] : c.w[1] * c.group;
    const ValueId w = net.constant(net.random_tensor(c.w, 1)),
                  b = net.constant(net.random_tensor({out}));
    const ValueId y = net.op("Relu", {net.op(c.op, {x, w, b}, a)});
    const Graph g = net.done({y});
    check(g, {net.random_tensor(c.x)});
  }
}

/// Weights and biases that come with the image, the last time with an infinity among them.
TEST(Windows, OfComputedWeights) {
  int number = 0;
  for (const Case& c : products()) {
    const int64_t out = std::string(c.op) == "Conv" ? c.w[0] : c.w[1] * c.group;
    for (const auto& [made_weights, made_bias, infinite] : {std::tuple{true, false, false},
                                                            {false, true, false},
                                                            {true, true, false},
                                                            {true, true, true}}) {
      SCOPED_TRACE(testing::Message() << c.op << ", case " << number << made_weights << made_bias);
      LayerNet net(33);
      const ValueId x = net.input({c.x.begin(), c.x.end()});
      Attributes a = c.attributes;
      a["group"].value = c.group;
      std::vector<Tensor> inputs = {net.random_tensor(c.x)};
      Tensor weights = net.random_tensor(c.w, 1);
      if (infinite) weights.mutable_data<float>()[1] = std::numeric_limits<float>::infinity();
      const Tensor bias = net.random_tensor({out});
      const auto operand = [&](const Tensor& t, bool made) {
        if (!made) return net.constant(t);
        inputs.push_back(t);
        return net.input({t.shape().begin(), t.shape().end()});
      };
      const ValueId w = operand(weights, made_weights);
      const ValueId b = operand(bias, made_bias);
      const Graph g = net.done({net.op("Relu", {net.op(c.op, {x, w, b}, a)})});
      check(g, inputs);
    }
    ++number;
  }
}

/// Codes on either side of what the graph computes.
TEST(Windows, OfComputedWeightsAmongCodes) {
  LayerNet net(34);
  const ValueId x = net.codes(net.input({2, 4, 6, 5}), {.scale = 0.05F});
  const ValueId w = net.codes(net.input({6, 4, 3, 3}), {.scale = 0.02F});
  const ValueId y = net.codes(net.conv(x, w, {1, 1, 1, 1}), {.scale = 0.1F});
  Attributes a;
  const ValueId b = net.input({5});
  const ValueId z = net.op("Conv", {y, net.weights({5, 6, 1, 1}, 0.01F), b}, a);
  const Graph g = net.done({net.codes(z, {.scale = 0.1F})});
  check(
      g,
      {net.random_tensor({2, 4, 6, 5}), net.random_tensor({6, 4, 3, 3}, 2), net.random_tensor({5})},
      0.1001);
}

/// Sizes that the file leaves open: the padding is known once they are.
TEST(Windows, OfOpenSizes) {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"})
    for (const char* op : {"Conv", "MaxPool", "AveragePool"}) {
      SCOPED_TRACE(testing::Message() << mode << " " << op);
      LayerNet net(32);
      const ValueId x = net.input({Dim::symbol("n"), 4, Dim::symbol("h"), Dim::symbol("w")});
      std::vector<ValueId> inputs = {x};
      Attributes a = attributes_of({{"strides", {2, 3}}, {"kernel_shape", {4, 3}}}, mode);
      if (std::string(op) == "Conv")
        inputs.push_back(net.constant(net.random_tensor({5, 4, 4, 3}, 1)));
      const Graph g = net.done({net.op(op, inputs, a)});
      for (const Shape& shape : {Shape{2, 4, 7, 9}, Shape{1, 4, 12, 5}, Shape{1, 4, 1, 1}})
        check(g, {net.random_tensor(shape)});
    }
}

TEST(Windows, OfPools) {
  const std::vector<Attributes> forms = {
      attributes_of({{"kernel_shape", {3, 2}}, {"strides", {2, 2}}}),
      attributes_of({{"kernel_shape", {3, 3}}, {"strides", {3, 2}}, {"pads", {1, 2, 2, 0}}}),
      attributes_of({{"kernel_shape", {2, 3}}, {"dilations", {3, 2}}, {"pads", {1, 2, 1, 2}}}),
      attributes_of({{"kernel_shape", {2, 2}}, {"dilations", {9, 9}}, {"pads", {4, 5, 4, 5}}}),
      attributes_of({{"kernel_shape", {3, 2}}}, "VALID"),
  };
  for (const char* op : {"MaxPool", "AveragePool"})
    for (size_t i = 0; i < forms.size(); ++i)
      for (const int64_t ceil : {0, 1})
        for (const int64_t counts : {0, 1}) {
          SCOPED_TRACE(testing::Message() << op << " form " << i << " " << ceil << counts);
          LayerNet net(33, 19);
          const ValueId x = net.input({2, 5, 8, 9});
          Attributes a = forms[i];
          a["ceil_mode"].value = ceil;
          if (std::string(op) == "AveragePool") a["count_include_pad"].value = counts;
          const Graph g = net.done({net.op(op, {x}, a)});
          check(g, {net.random_tensor({2, 5, 8, 9})});
        }
}

TEST(Windows, OfVolumes) {
  const std::vector<std::pair<const char*, Attributes>> forms = {
      {"Conv", attributes_of({{"pads", {1, 0, 2, 2, 1, 0}}, {"strides", {2, 1, 2}}})},
      {"Conv", attributes_of({{"dilations", {2, 1, 2}}}, "SAME_UPPER")},
      {"MaxPool",
       attributes_of(
           {{"kernel_shape", {2, 3, 2}}, {"strides", {2, 1, 2}}, {"pads", {1, 1, 0, 0, 2, 1}}})},
      {"AveragePool",
       attributes_of(
           {{"kernel_shape", {3, 2, 2}}, {"strides", {2, 2, 3}}, {"pads", {1, 0, 1, 1, 1, 0}}})},
      {"GlobalMaxPool", {}},
      {"GlobalAveragePool", {}},
  };
  for (const auto& [op, attributes] : forms)
    for (const int64_t flag : {0, 1}) {
      SCOPED_TRACE(testing::Message() << op << " " << flag);
      const bool pool = std::string(op) != "Conv";
      LayerNet net(37, pool && flag ? 9 : 17);
      // How much SAME pads follows from the sizes.
      const bool open = flag != 0 && !attributes.contains("auto_pad");
      const auto size = [open](const char* name, int64_t given) {
        return open ? Dim::symbol(name) : Dim(given);
      };
      const ValueId x = net.input(
          {flag ? Dim::symbol("n") : Dim(2), 4, size("d", 5), size("h", 6), size("w", 7)});
      std::vector<ValueId> inputs = {x};
      Attributes a = attributes;
      if (std::string(op) == "Conv") {
        a["group"].value = flag + 1;
        inputs.push_back(net.constant(net.random_tensor({6, 4 / (flag + 1), 3, 2, 3}, 1)));
        inputs.push_back(net.constant(net.random_tensor({6})));
      } else if (!a.empty()) {
        a["ceil_mode"].value = flag;
        if (std::string(op) == "AveragePool") a["count_include_pad"].value = flag;
      }
      const Graph g = net.done({net.op(op, inputs, a)});
      check(g, {net.random_tensor({2, 4, 5, 6, 7})});
      if (open) check(g, {net.random_tensor({1, 4, 8, 3, 9})});
    }
}

/// Volumes of one plane are images, whatever else is open, in floats and in codes.
TEST(Windows, OfVolumesOfOnePlane) {
  for (const int64_t opset : {10, 17})
    for (const std::string mode : {"", "SAME_UPPER"})
      for (const bool coded : {false, true}) {
        SCOPED_TRACE(testing::Message() << opset << " " << mode << coded);
        LayerNet net(38, opset);
        ValueId x = net.input({Dim::symbol("n"), 4, 1, Dim::symbol("h"), Dim::symbol("w")});
        if (coded) x = net.codes(x, {.scale = 0.05F, .zero = 3});
        const ValueId w = coded ? net.weights({6, 2, 1, 3, 5}, 0.004F)
                                : net.constant(net.random_tensor({6, 2, 1, 3, 5}, 1));
        Attributes a = mode.empty() ? attributes_of({{"pads", {0, 1, 2, 0, 0, 1}}})
                                    : attributes_of({}, mode.c_str());
        a["strides"].value = std::vector<int64_t>{1, 2, 1};
        a["group"].value = int64_t{2};
        const ValueId y =
            net.op("Tanh", {net.op("Conv", {x, w, net.constant(net.random_tensor({6}))}, a)});
        const Graph g = net.done({y});
        EXPECT_EQ(test::count_lowered(g, coded ? "QConv" : "Conv"), 1);
        check(g, {net.random_tensor({2, 4, 1, 7, 9})});
      }
}

TEST(Windows, OfWholePlanesAndLines) {
  for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"})
    for (const Shape& shape : {Shape{2, 5, 4, 6}, Shape{2, 5, 70'000}}) {
      LayerNet net(34);
      const ValueId x = net.input({shape.begin(), shape.end()});
      const Graph g = net.done({net.op(op, {x})});
      check(g, {net.random_tensor(shape)});
    }
  LayerNet net(35);
  const ValueId x = net.input({2, 5, 11});
  const Graph g = net.done(
      {net.op("AveragePool",
              {net.op("MaxPool", {x}, attributes_of({{"kernel_shape", {3}}, {"pads", {1, 1}}}))},
              attributes_of({{"kernel_shape", {2}}, {"strides", {2}}}))});
  check(g, {net.random_tensor({2, 5, 11})});
}

/// A network over lines stays in the order of its windows from the first to the last, and its codes
/// reach their products.
TEST(Windows, LinesAreImagesOfHeight1) {
  enum class Kind { kFloat, kCoded, kBroadcast };
  for (const Kind kind : {Kind::kFloat, Kind::kCoded, Kind::kBroadcast}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const bool coded = kind == Kind::kCoded;
    LayerNet net(36);
    ValueId x = net.input({2, 8, 20});
    if (coded) x = net.codes(x, {.scale = 0.05F, .zero = 3});
    const auto layer = [&](ValueId in, const Shape& w, Ints pads, int64_t group) {
      const ValueId weights =
          coded ? net.weights(w, 0.01F) : net.constant(net.random_tensor(w, 0.3));
      Attributes a = attributes_of({{"pads", std::move(pads)}});
      a["group"].value = group;
      const ValueId y = net.op("Relu", {net.op("Conv", {in, weights}, a)});
      return coded ? net.codes(y, {.scale = 0.2F, .zero = -100}) : y;
    };
    const ValueId a = layer(x, {8, 8, 3}, {1, 1}, 1);
    ValueId b = layer(a, {8, 1, 5}, {2, 2}, 8);
    if (kind == Kind::kBroadcast)
      b = net.op("Mul", {net.op("Add", {a, b}), net.constant(net.random_tensor({1, 8, 1}, 1))});
    const Graph g = net.done({layer(b, {4, 8, 2}, {0, 0}, 1)});
    check(g, {net.random_tensor({2, 8, 20})}, coded ? 0.2 : 1e-4);
    EXPECT_EQ(count_lowered(g, "QConv"), coded ? 3 : 0);
    int transposes = 0, squeezes = 0;
    const Lowered lowered = lower(g).value();
    for (const NodeId id : lowered.graph.nodes()) {
      transposes += lowered.graph.node(id).is("Transpose") ? 1 : 0;
      squeezes += lowered.graph.node(id).is("Squeeze") ? 1 : 0;
    }
    EXPECT_EQ(squeezes, 1) << "the output's";
    EXPECT_TRUE(kind == Kind::kBroadcast || transposes == 2) << transposes << ", not in and out";
  }
}

/// Branches of unlike ranks leave that of what is convolved open.
TEST(Windows, TakeTheRankOfTheirWeights) {
  const Graph g = parse_graph("graph g opset(\"\"=17)\ninput c: bool[]\ninput x: f32[1, 2, 6]\n"
                              "const w: f32[3, 2, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]\n"
                              "const a: i64[1] = [2]\n"
                              "z = If(c) {then_branch={ graph t\n  capture x: f32[1, 2, 6]\n"
                              "  m = Relu(x)\n  output m: f32[*]\n}, else_branch={ graph e\n"
                              "  capture x: f32[1, 2, 6]\n  capture a: i64[1]\n"
                              "  n = Unsqueeze(x, a)\n  output n: f32[*]\n}}\n"
                              "r = Neg(z)\ny = Conv(r, w)\noutput y: f32[*]\n")
                      .value();
  LayerNet net(37);
  check(g, {Tensor::of<bool>({}, {true}), net.random_tensor({1, 2, 6})});
}

} // namespace
} // namespace octet::test
