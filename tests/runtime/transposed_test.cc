// SPDX-License-Identifier: Apache-2.0
// ConvTranspose whose windows lie side by side: a product of pixels in codes, moved to their places.
#include "runtime/layer_net.h"

namespace octet {
namespace {

using test::Coding;
using test::count_lowered;
using test::expect_fused_bits;
using test::expect_meaning;
using test::LayerNet;

Attributes side_by_side(int64_t rows, int64_t columns) {
  Attributes a;
  a["strides"].value = std::vector<int64_t>{rows, columns};
  a["kernel_shape"].value = std::vector<int64_t>{rows, columns};
  return a;
}

/// int8 weights [in, out, rows, columns] with a scale for each output channel.
ValueId weights_by_channel(LayerNet& net, const Shape& shape) {
  const ValueId codes = net.plain_codes(shape, DType::kInt8);
  Tensor scales = net.random_tensor({shape[1]}, 0.004);
  for (float& s : scales.mutable_data<float>())
    s = std::abs(s) + 0.001F;
  Attributes axis;
  axis["axis"].value = int64_t{1};
  return net.op("DequantizeLinear", {codes, net.constant(std::move(scales))}, std::move(axis));
}

constexpr Coding kIn{0.05F, -3};
constexpr Coding kOut{0.06F, -128};

TEST(Transposed, BlocksAreProductsOfCodes) {
  uint64_t seed = 90;
  for (const bool open : {false, true})
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{2, 2}, {3, 2}, {1, 1}, {4, 4}})
      for (const int64_t channels : {1, 5, 24}) {
        LayerNet net(++seed);
        const Dim n = open ? Dim::symbol("N") : Dim(2), h = open ? Dim::symbol("H") : Dim(5);
        const ValueId x = net.codes(net.input({n, 6, h, 7}), kIn);
        const ValueId w = weights_by_channel(net, {6, channels, rows, columns});
        ValueId y = net.op("ConvTranspose", {x, w, net.constant(net.random_tensor({channels}, 1))},
                           side_by_side(rows, columns));
        y = net.codes(net.op("Relu", {y}), kOut);
        y = net.conv(y, net.weights({3, channels, 1, 1}, 0.004F));
        const Graph g = net.done({y});
        EXPECT_EQ(count_lowered(g, "QConv"), 2);
        EXPECT_EQ(count_lowered(g, "DepthToSpace"), 1);
        const std::vector<Tensor> inputs = {net.random_tensor({2, 6, 5, 7})};
        expect_fused_bits(g, inputs);
        // One code of what the last product reads, times its weights.
        expect_meaning(g, inputs, 0.06 * 0.004 * 128 * 2);
      }
}

TEST(Transposed, BlocksOfFloatsAndWhatFollows) {
  LayerNet net(140);
  const ValueId image = net.input({1, 4, 3, 6});
  const auto twice = [&](ValueId x, bool coded) {
    const ValueId w = coded ? weights_by_channel(net, {4, 4, 2, 2})
                            : net.constant(net.random_tensor({4, 4, 2, 2}, 0.5));
    return net.op("ConvTranspose", {x, w}, side_by_side(2, 2));
  };
  const ValueId plain = twice(image, false);
  // A shortcut of codes, a function of the numbers, and codes that several read.
  const ValueId shortcut = net.codes(net.input({1, 4, 6, 12}), {0.05F, 2});
  const ValueId coded = twice(net.codes(image, kIn), true);
  const ValueId sum = net.codes(net.op("Relu", {net.op("Add", {coded, shortcut})}), kOut);
  const ValueId gate = net.op("Sigmoid", {twice(net.codes(image, kIn), true)});
  const Graph g = net.done({net.op("Mul", {plain, gate}), sum,
                            net.op("Clip", {plain, net.constant(Tensor::scalar(-1.0F))})});
  EXPECT_EQ(count_lowered(g, "ConvTranspose"), 0);
  const std::vector<Tensor> inputs = {net.random_tensor({1, 4, 3, 6}),
                                      net.random_tensor({1, 4, 6, 12})};
  expect_fused_bits(g, inputs);
  expect_meaning(g, inputs, 0.061);
}

TEST(Transposed, LinesAreImagesOfOneRow) {
  LayerNet net(142);
  Attributes a;
  a["strides"].value = std::vector<int64_t>{4};
  const ValueId x = net.codes(net.input({2, 6, 9}), kIn);
  const ValueId w = weights_by_channel(net, {6, 5, 4});
  const Graph g = net.done({net.codes(net.op("ConvTranspose", {x, w}, a), {0.06F, 0})});
  EXPECT_EQ(count_lowered(g, "QConv"), 1);
  EXPECT_EQ(count_lowered(g, "DepthToSpace"), 1);
  expect_fused_bits(g, {net.random_tensor({2, 6, 9})});
  expect_meaning(g, {net.random_tensor({2, 6, 9})}, 0.06);
}

TEST(Transposed, OverlappingWindowsStayFloat) {
  LayerNet net(141);
  Attributes a = side_by_side(2, 2);
  a["kernel_shape"].value = std::vector<int64_t>{3, 3};
  const ValueId x = net.codes(net.input({1, 4, 3, 6}), kIn);
  const Graph g = net.done({net.op("ConvTranspose", {x, net.weights({4, 2, 3, 3}, 0.01F)}, a)});
  EXPECT_EQ(count_lowered(g, "ConvTranspose"), 1);
  expect_fused_bits(g, {net.random_tensor({1, 4, 3, 6})});
}

} // namespace
} // namespace octet
