// SPDX-License-Identifier: Apache-2.0
// Elementwise chains behind what is joined: codes stay codes, bits stay those of the graph as it is.
#include "runtime/layer_net.h"

namespace octet {
namespace {

using test::Coding;
using test::expect_fused_bits;
using test::inputs_of;
using test::LayerNet;

/// Bytes that the lowered graph's Concats of a type write, in elements of one image.
int64_t joined_elements(const Graph& graph, DType type) {
  const Graph lowered = lower(test::simplified(graph)).value().graph;
  int64_t elements = 0;
  for (const NodeId id : lowered.nodes()) {
    const Node& node = lowered.node(id);
    const Value& y = lowered.value(node.outputs[0]);
    if (!node.is("Concat") || y.type.type != type) continue;
    elements += element_count(y.type.static_shape().value_or(Shape{1})).value();
  }
  return elements;
}

const Attributes kChannels = {{"axis", {int64_t{1}}}};

/// The same at an odd address, as files may have numbers.
Tensor unaligned(const Tensor& t) {
  const std::shared_ptr<Buffer> buffer = Buffer::allocate(t.bytes().size() + 1);
  std::copy(t.bytes().begin(), t.bytes().end(), buffer->writable() + 1);
  return Tensor::view(t.type(), t.shape(), buffer, 1).value();
}

/// Relu(x * a + b) by channels, in codes.
ValueId scaled(LayerNet& net, ValueId x, int64_t channels, const Coding& to) {
  const auto numbers = [&] {
    return net.constant(unaligned(net.random_tensor({channels, 1, 1}, 1)));
  };
  const ValueId y = net.op("Add", {net.op("Mul", {x, numbers()}), numbers()});
  return net.codes(net.op("Relu", {y}), to);
}

/// A layer of a dense block: what was joined so far, scaled, then 4 more channels.
ValueId dense_layer(LayerNet& net, ValueId x, int64_t channels, const Coding& to) {
  const ValueId y =
      net.conv(scaled(net, x, channels, {0.03F, -128}), net.weights({4, channels, 1, 1}, 0.002F));
  return net.op("Concat", {x, net.codes(y, to)}, kChannels);
}

ValueId dense_block(LayerNet& net, ValueId first, const std::vector<Coding>& grids) {
  int64_t channels = 8;
  for (const Coding& grid : grids) {
    first = dense_layer(net, first, channels, grid);
    channels += 4;
  }
  return net.conv(scaled(net, first, channels, {0.02F, -128}),
                  net.weights({3, channels, 1, 1}, 0.002F));
}

TEST(JoinedMaps, ADenseBlockStaysInCodes) {
  LayerNet net(51);
  const ValueId x = net.codes(
      net.conv(net.codes(net.input({2, 4, 5, 7}), {0.04F, 3}), net.weights({8, 4, 1, 1}, 0.004F)),
      {0.02F, 4});
  const Graph g = net.done({dense_block(net, x, {{0.02F, 0}, {0.03F, -7}, {0.01F, 0}})});
  EXPECT_EQ(joined_elements(g, DType::kFloat32), 0);
  EXPECT_GT(joined_elements(g, DType::kInt8), 0);
  expect_fused_bits(g, inputs_of(net, g));
}

TEST(JoinedMaps, NumbersAreMappedBesideCodes) {
  LayerNet net(52);
  const ValueId x = net.op("Sin", {net.conv(net.codes(net.input({2, 4, 5, 7}), {0.04F, 3}),
                                            net.weights({8, 4, 1, 1}, 0.004F))});
  const Graph g = net.done({dense_block(net, x, {{0.02F, 0}, {0.03F, 0}, {0.02F, 0}})});
  EXPECT_EQ(joined_elements(g, DType::kFloat32), 0);
  expect_fused_bits(g, inputs_of(net, g));
}

TEST(JoinedMaps, WhatIsReadAsNumbersStays) {
  LayerNet net(53);
  const ValueId a = net.codes(net.input({2, 8, 3, 4}), {0.04F, 3});
  const ValueId b = net.codes(net.input({2, 4, 3, 4}), {0.02F, 5, DType::kUint8});
  const ValueId joined = net.op("Concat", {a, net.op("Abs", {b}), b}, kChannels);
  const Graph g = net.done({scaled(net, joined, 16, {0.02F, -128}), net.op("Neg", {joined})});
  expect_fused_bits(g, inputs_of(net, g));
}

TEST(JoinedMaps, FunctionsOfOneTensorBecomeTables) {
  LayerNet net(54);
  const ValueId a = net.codes(net.input({2, 8, 3, 4}), {0.04F, 3});
  const ValueId b = net.codes(net.input({2, 5, 3, 4}), {0.02F, -5});
  const ValueId joined = net.op("Concat", {a, b, a}, kChannels);
  const ValueId y = net.op("Mul", {joined, net.op("Sigmoid", {joined})});
  const Graph g = net.done({net.codes(y, {0.03F, -20})});
  EXPECT_EQ(joined_elements(g, DType::kFloat32), 0);
  EXPECT_EQ(test::count_lowered(g, "QMap"), 0);
  expect_fused_bits(g, inputs_of(net, g));
}

TEST(JoinedMaps, SizesThatAreSumsAreNotTheirConstants) {
  LayerNet net(56);
  const Dim h = Dim::symbol("H");
  const auto padded = [&](const Coding& c) {
    const ValueId pads = net.constant(Tensor::of<int64_t>({8}, {0, 0, 1, 0, 0, 0, 2, 0}));
    return net.codes(net.op("Pad", {net.input({2, 4, h, 3}), pads}), c);
  };
  const ValueId a = padded({0.04F, 3}), b = padded({0.02F, -5});
  ValueId y = net.op("Concat", {a, b}, {{"axis", {int64_t{2}}}});
  for (const char* op : {"Mul", "Add"})
    y = net.op(op, {y, net.constant(net.random_tensor({1, 1}, 1))});
  const Graph g = net.done({net.codes(net.op("Relu", {y}), {0.03F, -20})});
  expect_fused_bits(g, {net.random_tensor({2, 4, 5, 3}), net.random_tensor({2, 4, 5, 3})});
}

TEST(JoinedMaps, ManyNumbersLeaveNoRoomForGrids) {
  LayerNet net(55);
  const ValueId a = net.codes(net.input({1, 8, 3, 4}), {0.04F, 3});
  const ValueId b = net.codes(net.input({1, 4, 3, 4}), {0.02F, -5});
  ValueId y = net.op("Concat", {a, b}, kChannels);
  for (int i = 0; i < 4; ++i)
    y = net.op(i % 2 == 0 ? "Mul" : "Max", {y, net.constant(net.random_tensor({12, 1, 1}, 1))});
  const Graph g = net.done({net.codes(y, {0.03F, -20})});
  expect_fused_bits(g, inputs_of(net, g));
}

TEST(JoinedMaps, NumbersAlongOtherAxesAndOpenSizes) {
  LayerNet net(56);
  const ValueId a = net.codes(net.input({Dim(2), Dim(4), Dim(3), Dim(4)}), {0.04F, 3});
  const ValueId b = net.codes(net.input({Dim(2), Dim(4), Dim(3), Dim(4)}), {0.02F, 3});
  const auto behind = [&](int64_t axis, const Shape& shape) {
    const ValueId joined = net.op("Concat", {a, b}, {{"axis", {axis}}});
    const ValueId y = net.op("Mul", {joined, net.constant(net.random_tensor(shape, 1))});
    return net.codes(y, {0.03F, -20});
  };
  const Graph g = net.done({behind(-1, {8}), behind(1, {8, 3, 4}), behind(2, {6, 1}),
                            behind(3, {1, 1, 1, 8}), behind(1, {2, 1, 1, 1})});
  expect_fused_bits(g, inputs_of(net, g));
}

} // namespace
} // namespace octet
