// SPDX-License-Identifier: Apache-2.0
// A convolution reads more codes than its input holds: outside the image it reads the zero point,
// which a clamp in front may exclude.
#include "runtime/layer_net.h"

namespace octet {
namespace {

using test::Coding;
using test::expect_meaning;
using test::LayerNet;

/// Codes that a clamp keeps on one side of the zero point.
struct Clamped {
  Coding coding;
  float low, high;
};

const std::vector<Clamped> kClamped = {
    {{.scale = 0.04F, .zero = -10}, 0.4F, 6}, // codes from 0, zero point below
    {{.scale = 0.04F, .zero = -10}, 0.5F, 5},
    {{.scale = 0.04F, .zero = -1}, 0.04F, 5},
    {{.scale = 0.04F, .zero = -128}, 0, 10},
    {{.scale = 0.04F, .zero = 0}, 0, 5},
    {{.scale = 0.04F, .zero = 100}, -8, -6}, // codes up to -50, zero point above
    {{.scale = 0.04F, .zero = 200, .type = DType::kUint8}, -8, -6},
    {{.scale = 0.04F, .zero = 255, .type = DType::kUint8}, -10, -6.4F},
    {{.scale = 0.04F, .zero = 0, .type = DType::kUint8}, 0.4F, 6},
};

/// Where the windows of the second convolution leave the image.
struct Shaped {
  int64_t channels, group, kernel;
  std::vector<int64_t> pads;
};

const std::vector<Shaped> kShaped = {
    {8, 1, 3, {1, 1, 1, 1}},   {3, 1, 3, {1, 1, 1, 1}}, {8, 2, 3, {1, 1, 1, 1}},
    {16, 16, 3, {1, 1, 1, 1}}, {8, 1, 5, {2, 2, 2, 2}}, {8, 1, 3, {0, 0, 0, 1}},
    {8, 1, 3, {0, 0, 1, 0}},   {4, 1, 2, {1, 0, 0, 0}}, {8, 1, 3, {0, 0, 0, 0}},
};

/// x -> conv -> Clip -> Q, DQ: codes of a known range.
ValueId clamped_codes(LayerNet& net, const Clamped& c, int64_t channels) {
  const ValueId x = net.codes(net.input({1, 4, 9, 11}), {});
  const ValueId y = net.conv(x, net.weights({channels, 4, 1, 1}, 0.01F));
  return net.codes(net.clip(y, c.low, c.high), c.coding);
}

void check(LayerNet& net, ValueId y, const Coding& out) {
  const Graph g = net.done({net.codes(y, out)});
  expect_meaning(g, {net.random_tensor({1, 4, 9, 11}, 3)}, out.scale);
}

TEST(Padding, OfCodesThatAClampKeepsFromTheZeroPoint) {
  for (const Clamped& c : kClamped) {
    for (const Shaped& s : kShaped) {
      SCOPED_TRACE(testing::Message() << c.coding.zero << ", " << s.channels << ", " << s.group
                                      << ", " << s.kernel << ", " << s.pads[2] << s.pads[3]);
      LayerNet net(20);
      const ValueId x = clamped_codes(net, c, s.channels);
      // Large weights of one sign: a pair of products leaves int16 where more than the clamp's
      // codes are read.
      const ValueId w = net.weights({16, s.channels / s.group, s.kernel, s.kernel}, 0.003F, 90);
      check(net, net.conv(x, w, s.pads, s.group), {.scale = 3});
    }
  }
}

TEST(Padding, SaysSoInAWordToo) {
  for (const std::string mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    LayerNet net(21);
    const ValueId x = clamped_codes(net, kClamped[0], 8);
    Attributes a;
    a["auto_pad"].value = mode;
    check(net, net.op("Conv", {x, net.weights({16, 8, 3, 3}, 0.003F, 90)}, a), {.scale = 3});
  }
}

/// What keeps the range of codes on the way, and what only seems to.
TEST(Padding, BehindPoolsAndMoves) {
  for (const Clamped& c : kClamped) {
    for (const std::string kind : {"MaxPool", "Transpose", "AveragePool", "padded AveragePool"}) {
      SCOPED_TRACE(testing::Message() << c.coding.zero << " " << kind);
      LayerNet net(22);
      ValueId x = clamped_codes(net, c, 8);
      Attributes a;
      if (kind == "Transpose")
        a["perm"].value = std::vector<int64_t>{0, 1, 3, 2};
      else
        a["kernel_shape"].value = std::vector<int64_t>{2, 2};
      if (kind == "padded AveragePool") {
        a["pads"].value = std::vector<int64_t>{1, 1, 1, 1};
        a["count_include_pad"].value = int64_t{1};
      }
      x = net.op(kind == "padded AveragePool" ? "AveragePool" : kind, {x}, a);
      if (kind.ends_with("AveragePool")) x = net.codes(x, c.coding);
      check(net, net.conv(x, net.weights({16, 8, 3, 3}, 0.003F, 90), {1, 1, 1, 1}), {.scale = 3});
    }
  }
}

/// The average of numbers above 0, clamped below 0.
TEST(Padding, AverageThatAClampTurnsNegative) {
  LayerNet net(23);
  ValueId x = clamped_codes(net, {{.scale = 0.04F, .zero = -128}, 0, 10}, 8);
  Attributes a;
  a["kernel_shape"].value = std::vector<int64_t>{2, 2};
  x = net.clip(net.op("AveragePool", {x}, a), -8, -6);
  x = net.codes(x, {.scale = 0.04F, .zero = 100});
  check(net, net.conv(x, net.weights({16, 8, 3, 3}, 0.003F, 90)), {.scale = 3});
}

/// Windows of ONNX's MaxPool over codes that hold no pixel give the type's lowest code.
TEST(Padding, WindowsOfAMaxPoolThatMissTheImage) {
  LayerNet net(24);
  const Coding coding{.scale = 0.04F, .zero = -10};
  const ValueId x = net.codes(net.input({1, 4, 3, 3}), {});
  const ValueId y = net.conv(x, net.weights({8, 4, 1, 1}, 0.01F));
  Attributes a;
  a["kernel_shape"].value = std::vector<int64_t>{2, 2};
  a["dilations"].value = std::vector<int64_t>{4, 4};
  a["pads"].value = std::vector<int64_t>{1, 1, 1, 1};
  const ValueId pooled = net.op("MaxPool", {net.quantize(net.clip(y, 0.4F, 6), coding)}, a);
  const ValueId w = net.weights({16, 8, 1, 1}, 0.003F, 90);
  const ValueId z = net.codes(net.conv(net.dequantize(pooled, coding), w), {.scale = 3});
  const Graph g = net.done({z});
  expect_meaning(g, {net.random_tensor({1, 4, 3, 3}, 3)}, 3);
}

} // namespace
} // namespace octet
