// SPDX-License-Identifier: Apache-2.0
// Q that moves before what joins or compares numbers: the same codes, and no float tensor between.
#include <limits>

#include "runtime/layer_net.h"

namespace octet {
namespace {

using test::inputs_of;
using test::LayerNet;

/// How many of the operator's nodes in the lowered graph read this type.
int count_reading(const Graph& graph, std::string_view op, DType type) {
  const Graph lowered = lower(graph).value().graph;
  int n = 0;
  for (const NodeId id : lowered.nodes()) {
    const Node& node = lowered.node(id);
    n += node.op_type == op && lowered.value(node.inputs[0]).type.type == type ? 1 : 0;
  }
  return n;
}

/// Of correctly rounded operations: every executor has the same bits.
void expect_same_bits(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto want = make_reference_executor(graph).value()->run(inputs);
  ASSERT_TRUE(want.ok()) << want.error().text();
  for (const int threads : {1, 2}) {
    auto session = Session::create(graph, {.threads = threads});
    ASSERT_TRUE(session.ok()) << session.error().text();
    const auto native = session->run(inputs);
    ASSERT_TRUE(native.ok()) << native.error().text();
    for (size_t k = 0; k < want->size(); ++k)
      EXPECT_TRUE((*native)[k].identical((*want)[k])) << threads << " threads, output " << k;
  }
}

const Attributes kWindow = {{"kernel_shape", {std::vector<int64_t>{3, 3}}},
                            {"strides", {std::vector<int64_t>{2, 2}}},
                            {"pads", {std::vector<int64_t>{1, 1, 1, 1}}}};

TEST(QuantizeEarlier, BranchesAreJoinedAsCodes) {
  LayerNet net(31);
  const ValueId x = net.codes(net.input({2, 3, 5, 7}), {0.02F, 3});
  const ValueId a =
      net.op("Relu", {net.op("Mul", {x, net.constant(net.random_tensor({3, 1, 1}, 1))})});
  const ValueId b = net.codes(net.input({2, 4, 5, 7}), {0.03F, -9});
  const ValueId joined = net.op("Concat", {a, b, a}, {{"axis", {int64_t{1}}}});
  const Graph g = net.done({net.quantize(joined, {0.025F, -20})});
  EXPECT_EQ(count_reading(g, "Concat", DType::kInt8), 1);
  EXPECT_EQ(count_reading(g, "Concat", DType::kFloat32), 0);
  expect_same_bits(g, inputs_of(net, g));
}

TEST(QuantizeEarlier, WhatOthersReadAsNumbersIsJoinedAsNumbers) {
  LayerNet net(32);
  const ValueId a = net.codes(net.input({2, 6}), {0.02F, 3});
  const ValueId b = net.codes(net.input({2, 5}), {0.05F, 1});
  const ValueId joined = net.op("Concat", {a, b}, {{"axis", {int64_t{1}}}});
  const Graph g = net.done({net.quantize(joined, {0.03F, 0}), net.op("Neg", {joined})});
  EXPECT_EQ(count_reading(g, "Concat", DType::kFloat32), 1);
  expect_same_bits(g, inputs_of(net, g));
}

TEST(QuantizeEarlier, LargestOfCodes) {
  LayerNet net(33);
  const auto channels = [&net] { // as constants lie in files: anywhere
    const Tensor t = net.random_tensor({5, 1, 1}, 1);
    const std::shared_ptr<Buffer> memory = Buffer::allocate(t.bytes().size() + 1);
    std::copy(t.bytes().begin(), t.bytes().end(), memory->writable() + 1);
    return net.constant(Tensor::view(DType::kFloat32, {5, 1, 1}, memory, 1).value());
  };
  ValueId x = net.codes(net.input({2, 5, 9, 8}), {0.02F, 3});
  x = net.op("Add", {net.op("Mul", {x, channels()}), channels()});
  x = net.op("MaxPool", {net.op("Relu", {x})}, kWindow);
  const Graph g = net.done({net.quantize(x, {0.015F, -100})});
  EXPECT_EQ(count_reading(g, "MaxPool", DType::kInt8), 1);
  expect_same_bits(g, inputs_of(net, g));
}

TEST(QuantizeEarlier, BranchesThatArePooled) {
  LayerNet net(34);
  const ValueId a = net.codes(net.input({1, 3, 9, 8}), {0.02F, 3});
  const ValueId b = net.codes(net.input({1, 2, 9, 8}), {0.03F, -9});
  const ValueId joined = net.op("Concat", {a, b}, {{"axis", {int64_t{1}}}});
  const ValueId y = net.op("MaxPool", {joined}, kWindow);
  const Graph g = net.done({net.dequantize(net.quantize(y, {0.03F, 5}), {0.03F, 5})});
  EXPECT_EQ(count_reading(g, "MaxPool", DType::kInt8), 1);
  EXPECT_EQ(count_reading(g, "Concat", DType::kInt8), 1);
  expect_same_bits(g, inputs_of(net, g));
}

/// A window with NaN has the zero point, not the largest code beside it.
TEST(QuantizeEarlier, WhatMayBeNoNumberIsComparedFirst) {
  LayerNet net(35);
  const ValueId x = net.input({1, 2, 7, 7});
  const ValueId huge =
      net.op("Mul", {net.codes(x, {0.02F, 3}), net.constant(Tensor::scalar(3e38F))});
  const ValueId odd = net.op("Sub", {huge, huge});
  const Graph g = net.done({net.quantize(net.op("MaxPool", {x}, kWindow), {0.02F, 3}),
                            net.quantize(net.op("MaxPool", {odd}, kWindow), {0.02F, 3})});
  EXPECT_EQ(count_reading(g, "MaxPool", DType::kFloat32), 2);
  std::vector<Tensor> inputs = inputs_of(net, g);
  inputs[0].mutable_data<float>()[20] = std::numeric_limits<float>::quiet_NaN();
  inputs[0].mutable_data<float>()[50] = std::numeric_limits<float>::infinity();
  expect_same_bits(g, inputs);
}

} // namespace
} // namespace octet
