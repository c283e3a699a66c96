// SPDX-License-Identifier: Apache-2.0
// What lowering refuses, and what it leaves as the file says it.
#include <cmath>

#include "core/philox.h"
#include "passes/lower/lower.h"
#include "runtime/w1_graphs.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

/// x ─ Q ─ DQ ─ Relu ─ Q ─ DQ ─ MaxPool(3x3) ─ y with the given pads and dilation.
Graph pool_of_codes(int64_t pad, int64_t dilation) {
  Graph g;
  g.opsets[""] = 17;
  ValueId x = g.add_input("x", {DType::kFloat32, std::vector<Dim>{1, 2, 6, 6}, {}});
  const ValueId s = g.add_constant("s", Tensor::scalar(0.05F));
  const ValueId z = g.add_constant("z", Tensor::scalar<int8_t>(0));
  const auto codes = [&](ValueId v, const std::string& name) {
    const ValueId q = g.emit("QuantizeLinear", {v, s, z}, {}, name + "_q");
    return g.emit("DequantizeLinear", {q, s, z}, {}, name + "_dq");
  };
  x = codes(g.emit("Relu", {codes(x, "x")}, {}, "relu"), "r");
  Attributes attributes;
  attributes["kernel_shape"].value = std::vector<int64_t>{3, 3};
  attributes["dilations"].value = std::vector<int64_t>{dilation, dilation};
  attributes["pads"].value = std::vector<int64_t>{0, 0, pad, 0};
  x = g.emit("MaxPool", {x}, attributes, "pool");
  g.rename(x, "y");
  g.mark_output(x);
  return g;
}

int pools_on_codes(const Graph& model) {
  const Result<Lowered> lowered = lower(model);
  EXPECT_TRUE(lowered.ok()) << lowered.error().text();
  int count = 0;
  for (const NodeId id : lowered->graph.nodes()) {
    const Node& node = lowered->graph.node(id);
    if (!node.is("MaxPool", "octet.native")) continue;
    count += lowered->graph.value(node.input(0)).type.type == DType::kInt8 ? 1 : 0;
  }
  return count;
}

TEST(Lower, RefusesAMaxPoolOfCodesWhoseWindowsMayMissTheImage) {
  EXPECT_EQ(pools_on_codes(pool_of_codes(0, 1)), 1);
  EXPECT_EQ(pools_on_codes(pool_of_codes(2, 1)), 1);
  EXPECT_EQ(pools_on_codes(pool_of_codes(3, 1)), 0);
  EXPECT_EQ(pools_on_codes(pool_of_codes(4, 1)), 0);
  EXPECT_EQ(pools_on_codes(pool_of_codes(0, 2)), 1);
  EXPECT_EQ(pools_on_codes(pool_of_codes(1, 2)), 0);
}

TEST(Lower, RefusedPoolsStillRun) {
  const Graph model = pool_of_codes(3, 1);
  auto literal = make_reference_executor(model);
  auto session = Session::create(model);
  ASSERT_TRUE(literal.ok() && session.ok());
  Tensor x = Tensor::zeros(DType::kFloat32, {1, 2, 6, 6}).value();
  for (int64_t i = 0; i < x.count(); ++i)
    x.mutable_data<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 11) * 0.1F - 0.4F;
  const auto want = (*literal)->run(std::vector<Tensor>{x});
  const auto got = session->run(std::vector<Tensor>{x});
  if (!want.ok()) {
    EXPECT_FALSE(got.ok());
    return;
  }
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_TRUE((*got)[0].identical((*want)[0]));
}

TEST(Lower, LeavesQAndDqInPlaceWhereProductsStayFloat) {
  Philox random(7);
  Tensor x = Tensor::zeros(DType::kFloat32, {5, 1, 28, 28}).value();
  for (int64_t i = 0; i < x.count(); ++i)
    x.mutable_data<float>()[static_cast<size_t>(i)] = static_cast<float>(random.uniform(-2, 2));
  for (const test::QdqForm form :
       {test::QdqForm::kTensorRt, test::QdqForm::kOnnxRuntime, test::QdqForm::kUint8}) {
    const Graph model = test::W1Builder(form).build();
    const Graph lowered = lower(model, {.integer = false}).value().graph;
    int activations = 0, quantize = 0, dequantize = 0;
    for (const NodeId id : model.nodes()) {
      const Node& n = model.node(id);
      activations += n.is("QuantizeLinear") && model.constant(n.input(0)) == nullptr ? 1 : 0;
    }
    for (const NodeId id : lowered.nodes()) {
      const Node& n = lowered.node(id);
      quantize += n.is("Quantize", "octet.native") ? 1 : 0;
      dequantize += n.is("Dequantize", "octet.native") ? 1 : 0;
      EXPECT_NE(n.op_type, "QGemm");
      EXPECT_NE(n.op_type, "QConv");
      EXPECT_NE(n.op_type, "QTable");
    }
    EXPECT_GT(activations, 2);
    EXPECT_EQ(quantize, activations);
    EXPECT_EQ(dequantize, activations);

    Session session =
        Session::create(model, {.threads = 1, .isa = {}, .lower = true, .integer = false}).value();
    const Tensor got = session.run(std::vector<Tensor>{x}).value()[0];
    const auto run = [&](const Graph& g) {
      return make_reference_executor(g).value()->run(std::vector<Tensor>{x}).value()[0];
    };
    EXPECT_TRUE(got.identical(run(lowered)));
    const Tensor literal = run(model);
    for (int64_t i = 0; i < literal.count(); ++i) // float sums in another order may tip a code
      EXPECT_NEAR(got.at(i), literal.at(i), 0.01);
  }
}

TEST(Lower, TakesTheBestOfCodesWhereThereIsOneForSure) {
  const auto on_codes = [](const std::string& shape, const std::string& op) {
    const Graph model =
        parse_graph("graph g opset(\"\"=18)\ninput x: f32" + shape +
                    "\nconst s: f32[] = [0.0625]\nconst z: u8[] = [9]\nconst last: i64[1] = [-1]\n"
                    "const middle: i64[1] = [1]\nq = QuantizeLinear(x, s, z)\n"
                    "d = DequantizeLinear(q, s, z)\ny = " +
                    op + "\noutput y: f32[*]\n")
            .value();
    const Lowered lowered = lower(model).value();
    int count = 0;
    for (const NodeId id : lowered.graph.nodes()) {
      const Node& node = lowered.graph.node(id);
      if (!node.op_type.starts_with("Reduce")) continue;
      count += lowered.graph.value(node.input(0)).type.type == DType::kUint8 ? 1 : 0;
    }
    Tensor x = Tensor::zeros(DType::kFloat32, {2, 3, 20}).value();
    const std::span<float> values = x.mutable_data<float>();
    for (int64_t i = 0; i < x.count(); ++i)
      values[static_cast<size_t>(i)] = static_cast<float>(i * 37 % 101) * 0.21F - 8.0F;
    const auto want = make_reference_executor(model).value()->run(std::vector{x}).value();
    const auto got = Session::create(model, {.threads = 1}).value().run(std::vector{x}).value();
    EXPECT_TRUE(got[0].identical(want[0])) << op;
    return count == 1;
  };
  EXPECT_TRUE(on_codes("[2, 3, 20]", "ReduceMax(d, last)"));
  EXPECT_TRUE(on_codes("[2, 3, 20]", "ReduceMin(d, middle) {keepdims=0}"));
  EXPECT_TRUE(on_codes("[N, 3, 20]", "ReduceMin(d, last) {keepdims=0}"));
  EXPECT_FALSE(on_codes("[2, N, 20]", "ReduceMax(d, middle)")) << "over nothing it is infinite";
  EXPECT_FALSE(on_codes("[2, 3, 20]", "ReduceMean(d, middle)"));
}

TEST(Lower, TakesAScalarBiasOfOneOutput) {
  const std::string form = "graph g opset(\"\"=13)\ninput x: f32[2, 3]\nconst s: f32[] = [0.0625]\n"
                           "const z: i8[] = [0]\nconst codes: i8[3, 1] = [12, -7, 45]\n"
                           "const sum: f32[] = [0.00390625]\nconst low: i32[] = [37]\n"
                           "const real: f32[] = [0.3]\nconst v: f32[3, 1] = [0.3, -0.7, 1.1]\n"
                           "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                           "w = DequantizeLinear(codes, s, z)\nb = DequantizeLinear(low, sum)\n";
  const std::vector<Tensor> x = {
      Tensor::of<float>({2, 3}, {0.5F, -1.0F, 2.0F, 0.25F, 3.0F, -0.125F})};
  for (const std::string product :
       {"Gemm(x, v, real)", "Gemm(d, v, b)", "Gemm(d, w, real)", "Gemm(d, w, b)"}) {
    SCOPED_TRACE(product);
    const Graph model = parse_graph(form + "y = " + product + "\noutput y: f32[2, 1]\n").value();
    const auto want = make_reference_executor(model).value()->run(x).value();
    for (const bool integer : {true, false}) {
      auto session = Session::create(model, {.threads = 1, .integer = integer});
      ASSERT_TRUE(session.ok()) << session.error().text();
      const auto got = session->run(x).value();
      for (int64_t i = 0; i < 2; ++i)
        EXPECT_NEAR(got[0].at(i), want[0].at(i), 1e-6);
    }
  }
}

/// A small classifier of f16 or bf16 with Q/DQ before its first product, as TensorRT's strongly
/// typed networks have it.
Graph in_half(const std::string& type) {
  const std::string code = type == "f16" ? "10" : "16";
  return parse_graph("graph g opset(\"\"=21)\ninput x: " + type + "[N, 4]\nconst s: " + type +
                     "[] = [0.0625]\nconst z: i8[] = [0]\n"
                     "const w: i8[4, 3] = [12, -7, 45, 3, 99, -80, 27, 5, -64, 1, 0, 127]\n"
                     "const t: " +
                     type + "[3] = [0.0078125, 0.015625, 0.03125]\nconst e: i8[3] = [0, 0, 0]\n" +
                     "const b: " + type + "[3] = [0.1, -0.2, 0.3]\n" + "const v: " + type +
                     "[3, 2] = [0.3, -0.7, 1.1, 0.2, -0.9, 0.4]\n"
                     "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
                     "wd = DequantizeLinear(w, t, e) {axis=1}\nm = MatMul(d, wd)\n"
                     "a = Add(m, b)\nr = Tanh(a)\ny = MatMul(r, v)\np = Softmax(y)\n"
                     "f = Cast(p) {to=" +
                     code + "}\noutput f: " + type + "[N, 2]\noutput m: " + type + "[N, 3]\n")
      .value();
}

TEST(Lower, ComputesHalfInFloatAndProductsOfCodesInIntegers) {
  for (const auto& [type, step] :
       {std::pair<std::string, double>{"f16", 0x1p-10}, {"bf16", 0x1p-7}}) {
    SCOPED_TRACE(type);
    const Graph model = in_half(type);
    auto session = Session::create(model, {.keep_weights = true});
    ASSERT_TRUE(session.ok()) << session.error().text();
    bool integer = false;
    for (const PlannedNode& node : session->plan()) {
      EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
      integer = integer || node.node.find("QGemm") != std::string::npos;
    }
    EXPECT_TRUE(integer);
    Philox random(3);
    std::vector<double> values(80);
    for (double& v : values)
      v = random.uniform(-5, 5);
    const DType half = type == "f16" ? DType::kFloat16 : DType::kBfloat16;
    const std::vector<Tensor> x = {Tensor::from_doubles(half, {20, 4}, values).value()};
    const auto got = session->run(x).value();
    const auto want = make_reference_executor(model).value()->run(x).value();
    const auto lowered = make_reference_executor(session->lowered()).value()->run(x).value();
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].type(), half);
      EXPECT_TRUE(got[k].identical(lowered[k]));
      for (int64_t i = 0; i < got[k].count(); ++i) // some roundings to the type, one after another
        EXPECT_NEAR(got[k].at(i), want[k].at(i), 8 * step * std::max(1.0, std::abs(want[k].at(i))));
    }
    // Sums of codes are exact: the reference, which rounds scales times codes to the type, is too.
    for (int64_t i = 0; i < got[1].count(); ++i)
      EXPECT_EQ(got[1].at(i), want[1].at(i));
  }
}

TEST(Lower, CodesOf16BitsAreRoundedToHalf) {
  const Graph model = parse_graph("graph g opset(\"\"=21)\ninput c: i16[N]\n"
                                  "const s: f16[] = [0.000254]\nconst z: i16[] = [-7]\n"
                                  "const t: f32[] = [0.000325]\nd = DequantizeLinear(c, s, z)\n"
                                  "f = Cast(d) {to=1}\nq = QuantizeLinear(f, t, z)\n"
                                  "output q: i16[N]\n")
                          .value();
  std::vector<double> codes;
  for (int code = -32768; code < 32768; ++code)
    codes.push_back(code);
  const std::vector<Tensor> c = {
      Tensor::from_doubles(DType::kInt16, {std::ssize(codes)}, codes).value()};
  // The product is rounded to f32, then to f16.
  const auto scale = static_cast<float>(
      Tensor::from_doubles(DType::kFloat16, {1}, std::vector<double>{0.000254}).value().at(0));
  std::vector<double> numbers;
  numbers.reserve(codes.size());
  for (const double code : codes)
    numbers.push_back(static_cast<float>(code + 7) * scale);
  const Tensor half = Tensor::from_doubles(DType::kFloat16, {std::ssize(numbers)}, numbers).value();
  const Tensor got = Session::create(model, {}).value().run(c).value()[0];
  for (int64_t i = 0; i < got.count(); ++i) {
    const float quotient = static_cast<float>(half.at(i)) / 0.000325F;
    ASSERT_EQ(got.at(i), std::nearbyint(quotient) - 7) << codes[static_cast<size_t>(i)];
  }
}

TEST(Lower, InputsAndOutputsKeepTheirHalf) {
  const Graph model =
      parse_graph("graph g opset(\"\"=17)\ninput c: bool[]\ninput x: f16[2]\ninput z: f16[2]\n"
                  "y = Where(c, x, z)\noutput y: f16[2]\n")
          .value();
  const Graph lowered = lower(model).value().graph;
  EXPECT_EQ(lowered.value(lowered.inputs()[1]).type.type, DType::kFloat16);
  EXPECT_EQ(lowered.value(lowered.outputs()[0]).type.type, DType::kFloat16);
}

/// Weights [N, K] behind DQ and a Transpose, as PyTorch's exporters leave them.
std::string turned_product(const std::string& weights) {
  return "graph g opset(\"\"=20)\ninput x: f32[2, 3, 4]\nconst s: f32[] = [0.02]\n"
         "const z: u8[] = [120]\nconst t: f32[3] = [0.01, 0.02, 0.005]\n"
         "const n: i8[3] = [0, 0, 0]\nconst f: f32[3] = [0.1, -0.2, 0.3]\n" +
         weights +
         "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
         "r = Transpose(w) {perm=[1, 0]}\np = MatMul(d, r)\ny = Add(p, f)\n"
         "output y: f32[2, 3, 3]\n";
}

TEST(Lower, ProductsTakeStoredCodesThroughTransposes) {
  const std::string codes = "const c: i8[3, 4] = [1, -20, 127, 4, 5, -128, 7, 80, -9, 10, 11, 0]\n";
  const std::string cases[] = {
      codes + "w = DequantizeLinear(c, t, n) {axis=0}\n",
      codes + "w = DequantizeLinear(c, t) {axis=-2}\n",
      codes + "const u: f32[] = [0.01]\nconst m: i8[] = [3]\nw = DequantizeLinear(c, u, m)\n",
      // As Brevitas leaves them: quantized in the file, with bounds that state the bits.
      "const c: f32[3, 4] = [0.1, -0.2, 2.0, 0.4, 0.5, -0.6, 0.7, -0.8, -0.09, 0.1, 0.2, 0.0]\n"
      "const lo: i8[] = [-127]\nconst hi: i8[] = [127]\nb = QuantizeLinear(c, t, n) {axis=0}\n"
      "k = Clip(b, lo, hi)\nw = DequantizeLinear(k, t, n) {axis=0}\n"};
  for (const std::string& weights : cases) {
    SCOPED_TRACE(weights);
    const Graph model = parse_graph(turned_product(weights)).value();
    const Graph lowered = lower(model).value().graph;
    int products = 0;
    for (const NodeId id : lowered.nodes())
      products += lowered.node(id).is("QGemm", "octet.native") ? 1 : 0;
    EXPECT_EQ(products, 1);
    EXPECT_EQ(lowered.nodes().size(), 2U) << print(lowered);
    Tensor x = Tensor::zeros(DType::kFloat32, {2, 3, 4}).value();
    for (int64_t i = 0; i < x.count(); ++i)
      x.mutable_data<float>()[static_cast<size_t>(i)] = static_cast<float>(i % 11) * 0.4F - 2.0F;
    const auto want = make_reference_executor(model).value()->run(std::vector<Tensor>{x}).value();
    auto session = Session::create(model).value();
    const auto have = session.run(std::vector<Tensor>{x}).value();
    for (int64_t i = 0; i < want[0].count(); ++i)
      EXPECT_NEAR(have[0].at(i), want[0].at(i), 1e-5) << i;
  }
}

} // namespace
} // namespace octet
