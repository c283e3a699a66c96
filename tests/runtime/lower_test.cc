// SPDX-License-Identifier: Apache-2.0
// What lowering refuses.
#include "passes/lower/lower.h"
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

} // namespace
} // namespace octet
