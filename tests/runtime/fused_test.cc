// SPDX-License-Identifier: Apache-2.0
// What lowered operators take of their neighbours: functions and Q behind products. Fused or apart,
// the bits are the same, and native has them on every instruction set.
#include "runtime/layer_net.h"

namespace octet {
namespace {

using test::Coding;
using test::expect_meaning;
using test::inputs_of;
using test::LayerNet;

constexpr Coding kGivenCodes{.scale = 0.05F};
constexpr Coding kFunctionCodes{.scale = 0.03F, .zero = -20};

int count_native(const Graph& g, std::string_view op, std::string_view domain = "octet.native") {
  int n = 0;
  for (const NodeId id : g.nodes())
    n += g.node(id).is(op, domain) ? 1 : 0;
  return n;
}

/// Checks the graph's bits and meaning; returns it lowered.
Graph check_fused(const Graph& graph, const std::vector<Tensor>& inputs, double step) {
  test::expect_fused_bits(graph, inputs);
  expect_meaning(graph, inputs, step);
  return lower(test::simplified(graph)).value().graph;
}

enum class FunctionForm { kGelu, kGeluTanh, kSilu, kHardSwish, kTanh };

ValueId function_of(LayerNet& net, ValueId x, FunctionForm form) {
  Attributes a;
  switch (form) {
  case FunctionForm::kGelu:
    return net.op("Gelu", {x});
  case FunctionForm::kGeluTanh:
    a["approximate"].value = std::string("tanh");
    return net.op("Gelu", {x}, std::move(a));
  case FunctionForm::kSilu:
    return net.op("Mul", {x, net.op("Sigmoid", {x})});
  case FunctionForm::kHardSwish:
    return net.op("HardSwish", {x});
  case FunctionForm::kTanh:
    return net.op("Tanh", {x});
  }
  return x;
}

class BehindProducts : public ::testing::TestWithParam<FunctionForm> {};

TEST_P(BehindProducts, TheFunctionAndQJoin) {
  LayerNet net(3, 20);
  const ValueId x = net.codes(net.input({7, 33}), kGivenCodes);
  const ValueId y = function_of(net, net.gemm(x, 21, 33), GetParam());
  const ValueId z = net.gemm(net.codes(y, kFunctionCodes), 5, 21);
  const Graph g = net.done({z});
  const Graph lowered = check_fused(g, inputs_of(net, g), 0.05);
  EXPECT_EQ(count_native(lowered, "QGemm"), 2);
  EXPECT_EQ(count_native(lowered, "Quantize"), 1) << "that of x alone";
  EXPECT_EQ(count_native(lowered, "Map") + count_native(lowered, "Gelu") +
                count_native(lowered, "Tanh"),
            0);
}

TEST_P(BehindProducts, AlikeQuantizersAreOneAndOthersReadFloats) {
  LayerNet net(4, 20);
  const ValueId x = net.codes(net.input({2, 5, 17}), kGivenCodes);
  const auto product = [&](int64_t columns) {
    return net.op("MatMul", {x, net.weights({17, columns}, 0.003F)});
  };
  const ValueId alike = function_of(net, product(9), GetParam());
  const ValueId a = net.codes(alike, kFunctionCodes), b = net.codes(alike, kFunctionCodes);
  const ValueId unlike = function_of(net, product(9), GetParam());
  const ValueId c = net.codes(unlike, kFunctionCodes);
  const ValueId shown = function_of(net, product(9), GetParam());
  const ValueId d = net.codes(shown, kFunctionCodes);
  const Graph g =
      net.done({net.op("MatMul", {a, net.op("Transpose", {b},
                                            [] {
                                              Attributes at;
                                              at["perm"].value = std::vector<int64_t>{0, 2, 1};
                                              return at;
                                            }())}),
                net.op("Add", {c, unlike}), shown, d});
  check_fused(g, inputs_of(net, g), 0.1);
}

TEST_P(BehindProducts, ProductsThatOthersReadStay) {
  LayerNet net(5, 20);
  const ValueId x = net.codes(net.input({3, 16}), kGivenCodes);
  const ValueId sums = net.gemm(x, 8, 16);
  const ValueId y = function_of(net, sums, GetParam());
  const Graph g = net.done({net.codes(y, kFunctionCodes), sums});
  const Graph lowered = check_fused(g, inputs_of(net, g), 0.05);
  EXPECT_EQ(count_native(lowered, "Quantize") + count_native(lowered, "QMap"), 2);
}

INSTANTIATE_TEST_SUITE_P(Forms,
                         BehindProducts,
                         ::testing::Values(FunctionForm::kGelu,
                                           FunctionForm::kGeluTanh,
                                           FunctionForm::kSilu,
                                           FunctionForm::kHardSwish,
                                           FunctionForm::kTanh));

ValueId layer_norm_of(LayerNet& net, ValueId x, int64_t length) {
  return net.op("LayerNormalization", {x, net.constant(net.random_tensor({length})),
                                       net.constant(net.random_tensor({length}, 0.5))});
}

constexpr Coding kNormCodes{.scale = 0.1F};
constexpr Coding kOtherNormCodes{.scale = 0.07F, .zero = 120, .type = DType::kUint8};

TEST(AroundNorms, ResidualAndQJoinWhileTheNumbersGoOn) {
  LayerNet net(6);
  const ValueId x = net.input({2, 3, 24});
  const ValueId y = layer_norm_of(net, net.op("Add", {x, net.input({2, 3, 24})}), 24);
  const ValueId product =
      net.op("MatMul", {net.codes(y, kNormCodes), net.weights({24, 24}, 0.003F)});
  const ValueId z = layer_norm_of(net, net.op("Add", {product, y}), 24);
  const Graph g = net.done({net.codes(z, kNormCodes)});
  const Graph lowered = check_fused(g, inputs_of(net, g), 0.11);
  EXPECT_EQ(count_native(lowered, "Quantize"), 0);
  EXPECT_EQ(count_native(lowered, "Add", "") + count_native(lowered, "Map"), 0);
  EXPECT_EQ(count_native(lowered, "LayerNormalization"), 2);
}

TEST(AroundNorms, SumsThatGoOnAreOutputs) {
  LayerNet net(7);
  const ValueId x = net.input({4, 20});
  const ValueId h = net.op("Add", {x, net.input({4, 20})});
  const ValueId y = net.codes(layer_norm_of(net, h, 20), kNormCodes);
  const ValueId next = net.op("Add", {h, net.op("MatMul", {y, net.weights({20, 20}, 0.003F)})});
  const Graph g = net.done({layer_norm_of(net, next, 20), next});
  const Graph lowered = check_fused(g, inputs_of(net, g), 0.2);
  EXPECT_EQ(count_native(lowered, "Add", "") + count_native(lowered, "Map") +
                count_native(lowered, "Quantize"),
            0);
}

TEST(AroundNorms, ReadersOfManyGrids) {
  LayerNet net(8);
  const ValueId y = layer_norm_of(net, net.input({5, 18}), 18);
  std::vector<ValueId> out = {net.codes(y, kNormCodes), net.codes(y, kOtherNormCodes), y};
  for (const float scale : {0.1F, 0.03F, 0.04F, 0.05F, 0.06F})
    out.push_back(net.op("MatMul", {net.codes(y, {.scale = scale}), net.weights({18, 4}, 0.01F)}));
  const Graph g = net.done(out);
  check_fused(g, inputs_of(net, g), 0.2);
}

TEST(AroundNorms, BroadcastResidualsAndOwnGainsStayApart) {
  LayerNet net(9);
  const ValueId x = net.input({3, 2, 16});
  const ValueId row = net.op("Add", {x, net.input({2, 16})});
  const ValueId h = net.op("Add", {row, net.input({3, 2, 16})});
  // The gain is computed from the sum.
  Attributes axes;
  axes["axes"].value = std::vector<int64_t>{0, 1};
  axes["keepdims"].value = int64_t{0};
  const ValueId gain = net.op("ReduceMean", {h}, std::move(axes));
  const ValueId y = net.op("LayerNormalization", {h, gain});
  const Graph g = net.done({layer_norm_of(net, row, 16), net.codes(y, kNormCodes)});
  check_fused(g, inputs_of(net, g), 0.11);
}

TEST(AroundNorms, NothingIsNothing) {
  LayerNet net(10);
  const ValueId x = net.input({0, 16});
  const ValueId y = layer_norm_of(net, net.op("Add", {x, net.input({0, 16})}), 16);
  const Graph g = net.done({net.codes(y, kNormCodes), y});
  check_fused(g, inputs_of(net, g), 0.11);
}

/// A layer as quantize_dynamic writes it.
struct DynamicLayer {
  int64_t depth = 1, columns = 1;
  DType type = DType::kInt8;
  bool per_column = false; ///< scales and zero points
  bool bias = true;
  bool scale_first = true; ///< the operand order of its Muls
};

ValueId dynamic_layer(LayerNet& net, const std::vector<ValueId>& x, const DynamicLayer& layer) {
  const int64_t count = layer.per_column ? layer.columns : 1;
  const Shape shape = layer.per_column ? Shape{count} : Shape{};
  std::vector<double> scales(static_cast<size_t>(count)), zeros(scales.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    scales[i] = 0.002 + 0.001 * static_cast<double>(i % 5);
    zeros[i] = layer.type == DType::kUint8 ? 128 : 0;
  }
  const ValueId w_scale =
      net.constant(Tensor::from_doubles(DType::kFloat32, shape, scales).value());
  const ValueId zero = net.constant(Tensor::from_doubles(layer.type, shape, zeros).value());
  const ValueId w = net.plain_codes({layer.depth, layer.columns}, layer.type);
  const ValueId sums = net.op("MatMulInteger", {x[0], w, x[2], zero});
  Attributes to;
  to["to"].value = static_cast<int64_t>(DType::kFloat32);
  const ValueId floats = net.op("Cast", {sums}, std::move(to));
  const auto mul = [&](ValueId a, ValueId b) {
    return layer.scale_first ? net.op("Mul", {a, b}) : net.op("Mul", {b, a});
  };
  const ValueId y = mul(floats, mul(x[1], w_scale));
  if (!layer.bias) return y;
  return net.op("Add", {y, net.constant(net.random_tensor({layer.columns}))});
}

TEST(DynamicProducts, AreScaledWhereTheyAreMade) {
  LayerNet net(11, 20);
  const std::vector<ValueId> x = net.dynamic_codes(net.input({2, 5, 40}));
  const ValueId q = dynamic_layer(net, x, {.depth = 40, .columns = 24});
  const ValueId k = dynamic_layer(
      net, x, {.depth = 40, .columns = 24, .type = DType::kUint8, .scale_first = false});
  const ValueId v =
      dynamic_layer(net, x, {.depth = 40, .columns = 24, .per_column = true, .bias = false});
  const ValueId h = net.op("Add", {net.op("Mul", {q, k}), net.op("Gelu", {v})});
  const ValueId z =
      dynamic_layer(net, net.dynamic_codes(layer_norm_of(net, h, 24)),
                    {.depth = 24, .columns = 7, .type = DType::kUint8, .per_column = true});
  const Graph g = net.done({z, v});
  const Graph lowered = check_fused(g, inputs_of(net, g), 0.2);
  EXPECT_EQ(count_native(lowered, "QScaledGemm"), 4);
  EXPECT_EQ(count_native(lowered, "MatMulInteger", "") + count_native(lowered, "Cast", ""), 0);
}

TEST(DynamicProducts, FunctionsJoin) {
  for (const FunctionForm form : {FunctionForm::kGelu, FunctionForm::kSilu, FunctionForm::kTanh}) {
    LayerNet net(12, 20);
    const std::vector<ValueId> x = net.dynamic_codes(net.input({3, 33}));
    const Graph g =
        net.done({function_of(net, dynamic_layer(net, x, {.depth = 33, .columns = 21}), form)});
    const Graph lowered = check_fused(g, inputs_of(net, g), 0.01);
    EXPECT_EQ(count_native(lowered, "Map") + count_native(lowered, "Gelu") +
                  count_native(lowered, "Tanh"),
              0);
  }
}

TEST(DynamicProducts, SumsThatOthersReadAndWideWeightsStay) {
  LayerNet net(13, 20);
  const std::vector<ValueId> x = net.dynamic_codes(net.input({3, 16}));
  // Codes 0 to 255 around 0 do not fit int8.
  const ValueId w = net.plain_codes({16, 8}, DType::kUint8);
  const ValueId sums = net.op("MatMulInteger", {x[0], w, x[2]});
  Attributes to;
  to["to"].value = static_cast<int64_t>(DType::kFloat32);
  const ValueId floats = net.op("Cast", {sums}, std::move(to));
  const Graph g = net.done({net.op("Mul", {floats, x[1]}), sums});
  check_fused(g, inputs_of(net, g), 0.01);
}

ValueId stored(LayerNet& net, Shape shape, const Coding& coding) {
  return net.dequantize(net.plain_codes(std::move(shape), coding.type), coding);
}

// GELU as files of quantize_static hold it: Q and DQ between its parts, on its numbers too.
TEST(TablesOfTables, AreOneTable) {
  LayerNet net(14, 20);
  const ValueId x = net.codes(net.input({2, 3, 40}), {.scale = 0.03F, .zero = -20});
  const auto between = [&](ValueId y, float scale) {
    return net.codes(y, {.scale = scale, .zero = 130, .type = DType::kUint8});
  };
  const ValueId root = stored(net, {}, {.scale = 0.011F});
  const ValueId e = between(net.op("Erf", {between(net.op("Div", {x, root}), 0.02F)}), 0.008F);
  const ValueId sum = between(net.op("Add", {e, stored(net, {1}, {.scale = 0.008F})}), 0.016F);
  const ValueId y = between(net.op("Mul", {x, sum}), 0.04F);
  const ValueId half = between(net.op("Mul", {y, net.constant(Tensor::scalar(0.5F))}), 0.02F);
  const Graph g = net.done({half});
  const Graph lowered = check_fused(g, inputs_of(net, g), 1e-6);
  EXPECT_EQ(count_native(lowered, "QTable"), 1);
  EXPECT_EQ(count_native(lowered, "Dequantize"), 1) << "that of the output alone";
}

TEST(TablesOfTables, OthersMayReadWhatIsBetween) {
  LayerNet net(15, 20);
  const ValueId x = net.codes(net.input({4, 9}), kGivenCodes);
  const ValueId z = net.codes(net.input({4, 9}), kGivenCodes);
  const ValueId t = net.codes(net.op("Tanh", {x}), {.scale = 0.008F});
  const ValueId both = net.codes(net.op("Mul", {t, x}), kFunctionCodes);
  const ValueId mixed = net.codes(net.op("Mul", {t, z}), kFunctionCodes); // of two tensors
  // Of the same codes, but not element by element.
  Attributes perm;
  perm["perm"].value = std::vector<int64_t>{1, 0};
  const ValueId square = net.codes(net.input({5, 5}), kGivenCodes);
  const ValueId turned = net.op(
      "Transpose", {net.codes(net.op("Tanh", {square}), {.scale = 0.008F})}, std::move(perm));
  const ValueId crossed = net.codes(net.op("Mul", {turned, square}), kFunctionCodes);
  const Graph g = net.done({t, both, mixed, crossed});
  check_fused(g, inputs_of(net, g), 1e-6);
}

TEST(StoredBiases, AreAddedInCodes) {
  for (const bool first : {false, true}) {
    LayerNet net(16, 20);
    const ValueId x = net.codes(net.input({2, 3, 40}), kGivenCodes);
    const ValueId bias = stored(net, {40}, {.scale = 0.004F, .zero = 7});
    const ValueId y = first ? net.op("Add", {bias, x}) : net.op("Add", {x, bias});
    const Coding out{.scale = 0.05F, .zero = 90, .type = DType::kUint8};
    const Graph g = net.done({net.codes(y, out)});
    const Graph lowered = check_fused(g, inputs_of(net, g), out.scale);
    EXPECT_EQ(count_native(lowered, "QAdd"), 1);
    EXPECT_EQ(count_native(lowered, "Quantize"), 1) << "that of x alone";
  }
}

/// Whichever of two branches comes first in the file.
TEST(Sums, OfProductsTakeCodesThatComeBehindThem) {
  for (const bool first : {false, true})
    for (const int64_t group : {1, 8}) {
      LayerNet net(17, 20);
      const ValueId x = net.codes(net.input({2, 8, 5, 6}), kGivenCodes);
      const auto sums = [&] {
        return net.conv(x, net.weights({8, 8 / group, 3, 3}, 0.002F), {1, 1, 1, 1}, group);
      };
      const auto codes = [&] {
        return net.codes(net.conv(x, net.weights({8, 8, 1, 1}, 0.004F)), {.scale = 0.04F});
      };
      const ValueId a = first ? sums() : codes();
      const ValueId b = first ? codes() : sums();
      const Coding out{.scale = 0.06F, .zero = -128};
      const Graph g = net.done({net.codes(net.op("Relu", {net.op("Add", {a, b})}), out)});
      const Graph lowered = check_fused(g, inputs_of(net, g), out.scale);
      EXPECT_EQ(count_native(lowered, "QConv"), 2);
      for (const char* op : {"QAdd", "QMap", "Map", "Conv"})
        EXPECT_EQ(count_native(lowered, op), 0) << op;
    }
}

/// Images stay in their order whatever their sizes are, also where one is broadcast.
TEST(Sums, OfImagesOfOpenSizesStayInTheirOrder) {
  LayerNet net(18, 20);
  const Dim open = Dim::unknown();
  const auto codes = [&] {
    const ValueId x = net.codes(net.input({open, 3, open, open}), kGivenCodes);
    return net.codes(net.conv(x, net.weights({8, 3, 1, 1}, 0.004F)), {.scale = 0.04F});
  };
  const Coding out{.scale = 0.06F, .zero = 5};
  const ValueId sum = net.op("Add", {codes(), codes()});
  const Graph g = net.done({net.codes(sum, out)});
  for (const Shape& second : {Shape{2, 3, 5, 6}, Shape{2, 3, 1, 1}, Shape{1, 3, 5, 1}}) {
    SCOPED_TRACE(to_string(second));
    expect_meaning(g, {net.random_tensor({2, 3, 5, 6}), net.random_tensor(second)}, out.scale);
  }
  const Graph lowered = lower(g).value().graph;
  EXPECT_EQ(count_native(lowered, "QAdd"), 1);
  int turns = 0;
  for (const NodeId id : lowered.nodes())
    turns += lowered.node(id).is("Transpose") ? 1 : 0;
  EXPECT_EQ(turns, 3) << "of both inputs and the output";
}

} // namespace
} // namespace octet
