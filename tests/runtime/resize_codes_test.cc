// SPDX-License-Identifier: Apache-2.0
// Resize between codes is one operator, whatever axes it is for, wherever the codes go and come
// from, with the bits of Dequantize, Resize and Quantize one after the other.
#include "runtime/layer_net.h"
#include <fmt/format.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

using test::Coding;
using test::inputs_of;
using test::LayerNet;

struct ResizeCase {
  const char* name;
  Shape x;
  std::vector<float> scales;
  Attributes attributes = {};
};

std::vector<ResizeCase> resize_cases() {
  const auto with = [](const char* mode, const char* key = nullptr, Attribute value = {}) {
    Attributes out;
    out["mode"].value = std::string(mode);
    if (key != nullptr) out[key] = std::move(value);
    return out;
  };
  const Attributes linear = with("linear"), cubic = with("cubic");
  const Attributes corners = with("linear", "coordinate_transformation_mode",
                                  Attribute{.value = std::string("align_corners")});
  const Attributes antialias = with("linear", "antialias", Attribute{.value = int64_t{1}});
  return {
      {"Doubled", {2, 20, 5, 7}, {1, 1, 2, 2}, linear},
      {"AlongHeight", {1, 33, 6, 5}, {1, 1, 3, 1}, linear},
      {"AlongWidth", {1, 3, 6, 5}, {1, 1, 1, 2.5F}, linear},
      {"Smaller", {1, 17, 12, 10}, {1, 1, 0.5F, 0.4F}, corners},
      {"Cubic", {2, 5, 6, 4}, {1, 1, 1.5F, 2}, cubic},
      {"Antialias", {1, 4, 12, 9}, {1, 1, 0.5F, 0.5F}, antialias},
      {"LongRows", {1, 80, 3, 40}, {1, 1, 2, 2}, linear},
      {"OneEverywhere", {1, 40, 1, 1}, {1, 1, 8, 8}, linear},
      {"NothingChanges", {2, 6, 3, 4}, {1, 1, 1, 1}, linear},
      {"ToNothing", {2, 3, 4, 2}, {1, 1, 2, 0.25F}, linear},
      {"Volume", {1, 6, 3, 4, 5}, {1, 1, 2, 2, 2}, linear},
      {"Matrix", {4, 9}, {2, 1}, linear},
  };
}

class ResizeOfCodes : public ::testing::TestWithParam<ResizeCase> {
 protected:
  ValueId resized(LayerNet& net, ValueId x) const {
    const std::vector<float>& scales = GetParam().scales;
    const auto count = static_cast<int64_t>(scales.size());
    const ValueId list = net.constant(Tensor::of<float>({count}, std::span<const float>(scales)));
    return net.op("Resize", {x, ValueId{}, list}, GetParam().attributes);
  }
  std::vector<Dim> dims() const { return {GetParam().x.begin(), GetParam().x.end()}; }
  static int count(const Graph& g, std::string_view op) {
    const Graph lowered = lower(test::simplified(g)).value().graph;
    int n = 0;
    for (const NodeId id : lowered.nodes())
      n += lowered.node(id).is(op, "octet.native") ? 1 : 0;
    return n;
  }
};

TEST_P(ResizeOfCodes, HasTheBitsOfItsParts) {
  LayerNet net(3, 18);
  const ValueId x = net.codes(net.input(dims()), {.scale = 0.03F, .zero = 5});
  const ValueId y =
      net.codes(resized(net, x), {.scale = 0.02F, .zero = 130, .type = DType::kUint8});
  const Graph g = net.done({y});
  test::expect_fused_bits(g, inputs_of(net, g));
}

TEST_P(ResizeOfCodes, StandsBesideOthersThatReadEitherSide) {
  LayerNet net(4, 18);
  const ValueId x = net.codes(net.input(dims()), {.scale = 0.03F, .type = DType::kUint8});
  const ValueId floats = net.input(dims());
  const ValueId alone = resized(net, x); // read twice, as numbers once
  const ValueId out = net.codes(alone, {.scale = 0.04F, .zero = -9});
  const ValueId from_floats = net.codes(resized(net, floats), {.scale = 0.05F});
  const ValueId to_floats = net.op("Relu", {resized(net, x)});
  const Graph g = net.done({out, alone, from_floats, to_floats, net.op("Neg", {x})});
  test::expect_fused_bits(g, inputs_of(net, g));
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         ResizeOfCodes,
                         ::testing::ValuesIn(resize_cases()),
                         [](const auto& one) { return one.param.name; });

TEST_F(ResizeOfCodes, IsOneOperatorBetweenConvolutions) {
  LayerNet net(5, 18);
  const ValueId x = net.codes(net.input({1, 8, 6, 6}), {.scale = 0.03F});
  const ValueId a = net.codes(net.conv(x, net.weights({24, 8, 1, 1}, 0.01F)), {.scale = 0.2F});
  Attributes linear;
  linear["mode"].value = std::string("linear");
  const ValueId list = net.constant(Tensor::of<float>({4}, {1, 1, 2, 2}));
  const ValueId b = net.codes(net.op("Resize", {a, ValueId{}, list}, linear), {.scale = 0.15F});
  const Graph g = net.done({net.conv(b, net.weights({4, 24, 1, 1}, 0.01F))});
  test::expect_fused_bits(g, inputs_of(net, g));
  EXPECT_EQ(count(g, "QResize"), 1);
  EXPECT_EQ(count(g, "Resize"), 0);
  EXPECT_EQ(count(g, "Dequantize"), 0);
  EXPECT_EQ(count(g, "Quantize"), 1) << "that of the input";
}

/// Bytes that no Q made, with scales whose weights are sums of powers of two.
TEST(ResizeOfBytes, IsThatOfTheirNumbers) {
  for (const char* type : {"i8", "u8"}) {
    for (const char* mode : {"linear", "cubic"}) {
      const std::string text =
          fmt::format("graph g opset(\"\"=13)\ninput x: {0}[2, 5, 6, 3]\n"
                      "const list: f32[4] = [1, 1, 2, 2]\ny = Resize(x, _, list) {{mode=\"{1}\"}}\n"
                      "output y: {0}[2, 5, 12, 6]\n",
                      type, mode);
      SCOPED_TRACE(text);
      const Graph model = parse_graph(text).value();
      Tensor x = Tensor::zeros(model.value(model.inputs()[0]).type.type, {2, 5, 6, 3}).value();
      const auto bytes = x.mutable_bytes();
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 83 % 256);
      const auto want = make_reference_executor(model).value()->run(std::vector{x}).value();
      auto session = Session::create(model, {.threads = 1});
      ASSERT_TRUE(session.ok()) << session.error().text();
      EXPECT_TRUE(session->run(std::vector{x}).value()[0].identical(want[0]));
      ASSERT_EQ(session->plan().size(), 1U);
      EXPECT_EQ(session->plan()[0].op_type, "QResize");
    }
  }
}

} // namespace
} // namespace octet
