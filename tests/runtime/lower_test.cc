// SPDX-License-Identifier: Apache-2.0
// What lowering refuses, and what it leaves as the file says it.
#include "core/philox.h"
#include "passes/lower/lower.h"
#include "runtime/w1_graphs.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/session.h"
#include "octet/text.h"

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

int native_pools(const Graph& model) {
  const Result<Lowered> lowered = lower(model);
  EXPECT_TRUE(lowered.ok()) << lowered.error().text();
  int count = 0;
  for (const NodeId id : lowered->graph.nodes())
    count += lowered->graph.node(id).is("MaxPool", "octet.native") ? 1 : 0;
  return count;
}

TEST(Lower, RefusesAMaxPoolWhoseWindowsMayMissTheImage) {
  EXPECT_EQ(native_pools(pool_of_codes(0, 1)), 1);
  EXPECT_EQ(native_pools(pool_of_codes(2, 1)), 1);
  EXPECT_EQ(native_pools(pool_of_codes(3, 1)), 0);
  EXPECT_EQ(native_pools(pool_of_codes(4, 1)), 0);
  EXPECT_EQ(native_pools(pool_of_codes(0, 2)), 1);
  EXPECT_EQ(native_pools(pool_of_codes(1, 2)), 0);
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

} // namespace
} // namespace octet
