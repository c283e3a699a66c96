// SPDX-License-Identifier: Apache-2.0
// Operands of one operator in two orders of elements: images are NHWC inside, what is flattened of
// them keeps that order, and everything else has the file's.
#include "runtime/layer_net.h"

namespace octet {
namespace {

using test::Coding;
using test::count_lowered;
using test::expect_meaning;
using test::inputs_of;
using test::LayerNet;

constexpr Coding kIn{.scale = 0.05F};
constexpr Coding kMiddle{.scale = 0.04F};
constexpr Coding kOut{.scale = 0.06F};

/// What a value is made by; all are codes behind DQ.
enum class Made { kPlain, kImage };

/// [N, c, h, w] behind DQ: of a convolution, or as it was given.
ValueId image(LayerNet& net, Made made, int64_t c, int64_t h, int64_t w, const Coding& coding) {
  const ValueId x = net.codes(net.input({2, made == Made::kImage ? 2 : c, h, w}), kIn);
  if (made == Made::kPlain) return net.op("Relu", {x});
  return net.codes(net.conv(x, net.weights({c, 2, 3, 3}, 0.01F), {1, 1, 1, 1}), coding);
}

void check(LayerNet& net, ValueId y, double step) {
  const Graph g = net.done({y});
  expect_meaning(g, inputs_of(net, g), step);
}

TEST(Layouts, ResidualOfAFlattenedImageBehindGemm) {
  for (const bool requantized : {false, true}) {
    for (const bool relu : {false, true}) {
      for (const bool first : {false, true}) {
        SCOPED_TRACE(testing::Message() << requantized << relu << first);
        LayerNet net(1);
        ValueId x = net.op("Flatten", {image(net, Made::kImage, 3, 4, 5, kMiddle)});
        if (requantized) x = net.codes(x, kMiddle);
        const ValueId product = net.gemm(x, 60, 60);
        ValueId y = net.op("Add", first ? std::vector{x, product} : std::vector{product, x});
        if (relu) y = net.op("Relu", {y});
        const Graph g = net.done({net.codes(y, kOut)});
        EXPECT_EQ(count_lowered(g, "QGemm"), 1);
        EXPECT_EQ(count_lowered(g, "QAdd"), 0);
        expect_meaning(g, inputs_of(net, g), kOut.scale);
      }
    }
  }
}

TEST(Layouts, ResidualOfAnImageBehindMatMulOverItsLastAxis) {
  LayerNet net(2);
  const ValueId x = image(net, Made::kImage, 3, 4, 5, kMiddle);
  const ValueId y = net.op("Add", {net.op("MatMul", {x, net.weights({5, 5}, 0.003F)}), x});
  const Graph g = net.done({net.codes(y, kOut)});
  EXPECT_EQ(count_lowered(g, "QGemm"), 1);
  expect_meaning(g, inputs_of(net, g), kOut.scale);
}

TEST(Layouts, ResidualInTheFilesOrderBehindConv) {
  LayerNet net(3);
  const ValueId shortcut = image(net, Made::kPlain, 3, 4, 5, kIn);
  const ValueId x = net.codes(net.input({2, 2, 4, 5}), kIn);
  const ValueId product = net.conv(x, net.weights({3, 2, 3, 3}, 0.003F), {1, 1, 1, 1});
  check(net, net.codes(net.op("Add", {product, net.codes(shortcut, kMiddle)}), kOut), kOut.scale);
}

TEST(Layouts, ProductOfTwoImages) {
  for (const Made a : {Made::kPlain, Made::kImage}) {
    for (const Made b : {Made::kPlain, Made::kImage}) {
      LayerNet net(4);
      const ValueId x = net.codes(image(net, a, 3, 4, 5, kMiddle), kMiddle);
      const ValueId y = net.codes(image(net, b, 3, 5, 4, kMiddle), kMiddle);
      const Graph g = net.done({net.codes(net.op("MatMul", {x, y}), kOut)});
      EXPECT_EQ(count_lowered(g, "QMatMul"), 1);
      expect_meaning(g, inputs_of(net, g), kOut.scale);
    }
  }
}

/// The sum of two values as codes, or in float.
void check_sum(LayerNet& net, ValueId a, ValueId b, bool quantized) {
  const ValueId sum = net.op("Add", {a, b});
  check(net, quantized ? net.codes(sum, kOut) : net.op("Relu", {sum}), quantized ? 0.06 : 1e-4);
}

TEST(Layouts, SumsOfImages) {
  for (const bool quantized : {false, true}) {
    for (const Made a : {Made::kPlain, Made::kImage}) {
      for (const Made b : {Made::kPlain, Made::kImage}) {
        LayerNet net(5);
        const ValueId x = image(net, a, 3, 4, 5, kMiddle);
        check_sum(net, x, image(net, b, 3, 4, 5, kIn), quantized);
      }
    }
  }
}

TEST(Layouts, SumsOfFlattenedImagesOfOneShapeAndOfTwo) {
  for (const bool quantized : {false, true}) {
    for (const Made a : {Made::kPlain, Made::kImage}) {
      for (const auto& [c, h, w] : {std::array<int64_t, 3>{3, 4, 5}, {5, 4, 3}, {3, 5, 4}}) {
        LayerNet net(6);
        const ValueId x = net.op("Flatten", {image(net, a, 3, 4, 5, kMiddle)});
        const ValueId y = net.op("Flatten", {image(net, Made::kImage, c, h, w, kIn)});
        check_sum(net, x, y, quantized);
      }
    }
  }
}

/// Float tensors in the order of images: no codes on either side.
TEST(Layouts, FloatSumsOfFlattenedImagesOfTwoShapes) {
  for (const int64_t c : {3, 4, 5}) {
    LayerNet net(7);
    const int64_t h = c == 4 ? 3 : 4, w = 60 / c / h;
    const auto flat = [&](int64_t channels, int64_t height, int64_t width) {
      const ValueId kernel = net.constant(net.random_tensor({channels, 2, 1, 1}));
      return net.op("Flatten", {net.conv(net.input({2, 2, height, width}), kernel)});
    };
    const ValueId a = flat(3, 4, 5), b = flat(c, h, w);
    const ValueId weights = net.constant(net.random_tensor({60, 7}, 0.1));
    check(net, net.op("MatMul", {net.op("Add", {a, b}), weights}), 1e-3);
  }
}

TEST(Layouts, SumsThatBroadcast) {
  for (const bool quantized : {false, true}) {
    for (const Shape& shape : {Shape{1, 3, 1, 1}, {5}, {1, 5}, {4, 1}, {2, 1, 4, 5}}) {
      LayerNet net(8);
      const ValueId x = image(net, Made::kImage, 3, 4, 5, kMiddle);
      const ValueId b = net.codes(net.input({shape.begin(), shape.end()}), kIn);
      check_sum(net, x, b, quantized);
    }
  }
}

/// Every operator between the convolution and the product sees the file's order.
TEST(Layouts, MovesAndReductionsOfImages) {
  const auto ints = [](LayerNet& net, std::vector<int64_t> v) {
    return net.constant(Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v));
  };
  for (int kind = 0; kind < 9; ++kind) {
    SCOPED_TRACE(kind);
    LayerNet net(9);
    ValueId x = image(net, Made::kImage, 3, 4, 5, kMiddle);
    Attributes a;
    if (kind == 0) {
      a["perm"].value = std::vector<int64_t>{0, 2, 1, 3};
      x = net.op("Transpose", {x}, a);
    } else if (kind == 1) {
      x = net.op("Reshape", {x, ints(net, {2, 5, 12})});
    } else if (kind == 2) {
      a["axes"].value = std::vector<int64_t>{1};
      x = net.op("ReduceMean", {x}, a);
    } else if (kind == 3) {
      a["axes"].value = std::vector<int64_t>{2, 3};
      x = net.op("ReduceMax", {x}, a);
    } else if (kind == 4) {
      a["axis"].value = int64_t{1};
      x = net.op("Concat", {x, net.codes(net.input({2, 2, 4, 5}), kMiddle)}, a);
    } else if (kind == 5) {
      x = net.op("Slice", {x, ints(net, {1}), ints(net, {3}), ints(net, {1})});
    } else if (kind == 6) {
      x = net.op("Pad", {x, ints(net, {0, 1, 0, 0, 0, 0, 2, 0})});
    } else if (kind == 7) {
      a["axis"].value = int64_t{2};
      x = net.op("Flatten", {x}, a);
    } else {
      a["kernel_shape"].value = std::vector<int64_t>{2, 2};
      x = net.op("MaxPool", {x}, a);
    }
    x = net.codes(x, kMiddle);
    check(net, net.codes(net.op("Add", {net.op("Tanh", {x}), x}), kOut), kOut.scale);
  }
}

/// What is turned between a product and a reader in the file's order are bytes, once for all readers.
TEST(Layouts, CodesAreTurnedRatherThanTheirNumbers) {
  LayerNet net(12);
  const ValueId x = image(net, Made::kImage, 3, 4, 5, kMiddle);
  Attributes last;
  last["axis"].value = int64_t{-1};
  const ValueId sums = net.op("CumSum", {x, net.constant(Tensor::scalar<int64_t>(3))});
  const Graph g = net.done({x, sums, net.op("Softmax", {x}, last), net.op("Tanh", {x})});
  const Lowered lowered = lower(g).value();
  int turned = 0;
  for (const NodeId id : lowered.graph.nodes()) {
    const Node& node = lowered.graph.node(id);
    if (!node.is("Transpose")) continue;
    const Node* maker = lowered.graph.producer(node.input(0));
    turned += maker != nullptr && maker->is("QConv", "octet.native") ? 1 : 0;
  }
  EXPECT_EQ(turned, 1);
  expect_meaning(g, inputs_of(net, g), 1e-5);
}

/// PyTorch's PixelShuffle is CRD: the convolution before it takes the order of its channels.
TEST(Layouts, DepthToSpaceOfImages) {
  for (const char* mode : {"CRD", "DCR"}) {
    for (const bool quantized : {false, true}) {
      for (int between = 0; between < 4; ++between) {
        SCOPED_TRACE(testing::Message() << mode << quantized << between);
        LayerNet net(13);
        ValueId x = net.input({2, 2, 4, 5});
        if (quantized) x = net.codes(x, kIn);
        Attributes along_outputs, pads;
        along_outputs["axis"].value = int64_t{0};
        pads["pads"].value = std::vector<int64_t>{1, 1, 1, 1};
        std::vector<float> scales(12);
        for (size_t i = 0; i < scales.size(); ++i)
          scales[i] = 0.004F + 0.001F * static_cast<float>(i * 7 % 12);
        const ValueId codes = net.plain_codes({12, 2, 3, 3}, DType::kInt8);
        const ValueId kernel =
            quantized
                ? net.op("DequantizeLinear", {codes, net.constant(Tensor::of<float>({12}, scales))},
                         along_outputs)
                : net.constant(net.random_tensor({12, 2, 3, 3}, 0.3));
        const ValueId made =
            net.op("Conv", {x, kernel, net.constant(net.random_tensor({12}, 0.5))}, pads);
        x = between == 1 ? net.op("Relu", {made}) : between == 2 ? net.op("Tanh", {made}) : made;
        if (quantized) x = net.codes(x, kMiddle);
        Attributes a;
        a["blocksize"].value = int64_t{2};
        a["mode"].value = std::string(mode);
        std::vector<ValueId> outputs = {net.op("Relu", {net.op("DepthToSpace", {x}, a)})};
        if (between == 3) outputs.push_back(x);
        const Graph g = net.done(outputs);
        EXPECT_EQ(count_lowered(g, "DepthToSpace"), 1);
        int by_numbers = 0;
        const Lowered lowered = lower(g).value();
        for (const NodeId id : lowered.graph.nodes())
          by_numbers += lowered.graph.node(id).attr_string("mode", "") == "CRD" ? 1 : 0;
        EXPECT_EQ(by_numbers, std::string_view(mode) == "CRD" && between > 1 ? 1 : 0);
        expect_meaning(g, inputs_of(net, g), quantized ? kMiddle.scale : 1e-5);
      }
    }
  }
}

/// One channel or one pixel is in both orders at once, whatever sizes are open.
TEST(Layouts, OneChannelOrOnePixelOfOpenSize) {
  const Dim n = Dim::symbol("n"), h = Dim::symbol("h"), w = Dim::symbol("w");
  for (const bool quantized : {false, true}) {
    for (const int64_t in : {1, 2}) {
      for (const int64_t out : {1, 3}) {
        for (const std::vector<Dim>& dims : {std::vector<Dim>{n, in, h, w},
                                             {1, in, h, 4},
                                             {n, in, 5, w},
                                             {n, in, 5, 4},
                                             {n, in, 1, 1}}) {
          SCOPED_TRACE(testing::Message() << quantized << in << out << dims[2].text());
          LayerNet net(10);
          const ValueId x = net.input(dims);
          const auto weights = [&](int64_t o, int64_t i) {
            return quantized ? net.weights({o, i, 3, 3}, 0.01F)
                             : net.constant(net.random_tensor({o, i, 3, 3}, 0.3));
          };
          const auto between = [&](ValueId v, const Coding& c) {
            return quantized ? net.codes(v, c) : v;
          };
          ValueId y = between(net.conv(between(x, kIn), weights(out, in), {1, 1, 1, 1}), kMiddle);
          y = net.op("Sigmoid", {between(net.conv(y, weights(1, out), {1, 1, 1, 1}), kOut)});
          const Graph g = net.done({y});
          for (const int64_t batch : {1, 2}) {
            if (dims[0].is_constant() && batch > 1) continue;
            const Shape shape{batch, in, dims[2].maybe_value().value_or(5),
                              dims[3].maybe_value().value_or(4)};
            expect_meaning(g, {net.random_tensor(shape)}, quantized ? 0.016 : 1e-5);
          }
        }
      }
    }
  }
}

/// Q of a constant by a scale that is given at run time.
TEST(Layouts, ConstantWithAScaleOfTheInputs) {
  LayerNet net(11);
  const ValueId scale = net.input({});
  const ValueId zero = net.constant(Tensor::scalar<int8_t>(0));
  const ValueId q =
      net.op("QuantizeLinear", {net.constant(net.random_tensor({3, 4}, 1)), scale, zero});
  const ValueId w = net.op("DequantizeLinear", {q, scale, zero});
  const ValueId x = net.codes(net.input({2, 3}), kIn);
  const Graph g = net.done({net.op("MatMul", {x, w})});
  const Tensor step = Tensor::scalar(0.01F);
  expect_meaning(g, {step, net.random_tensor({2, 3})}, 1e-5);
}

} // namespace
} // namespace octet
