// SPDX-License-Identifier: Apache-2.0
// Lowering looks at stored weights as codes: their numbers, several times as large, are not made.
#include "passes/lower/lower.h"
#include "support/memory.h"
#include <gtest/gtest.h>

#include "octet/session.h"

namespace octet {
namespace {

/// x ─ Q ─ DQ ─ Gemm(int8 weights behind DQ), its weights of rows x columns.
Graph stored_weights(int64_t rows, int64_t columns) {
  Graph g;
  g.opsets[""] = 17;
  const ValueId x =
      g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), Dim(columns)}, {}});
  const ValueId scale = g.add_constant("scale", Tensor::scalar(0.05F));
  const ValueId zero = g.add_constant("zero", Tensor::scalar<int8_t>(0));
  Tensor codes = Tensor::zeros(DType::kInt8, {rows, columns}).value();
  const auto values = codes.mutable_data<int8_t>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int8_t>(i % 251 % 200 - 100);
  const ValueId w =
      g.emit("DequantizeLinear", {g.add_constant("codes", std::move(codes)), scale, zero}, {}, "w");
  const ValueId q = g.emit("QuantizeLinear", {x, scale, zero}, {});
  const ValueId dq = g.emit("DequantizeLinear", {q, scale, zero}, {});
  Attributes turned;
  turned["transB"].value = int64_t{1};
  g.mark_output(g.emit("Gemm", {dq, w}, turned));
  return g;
}

TEST(LowerMemory, StoredWeightsStayCodes) {
  constexpr int64_t kRows = 4096, kColumns = 4096, kCodes = kRows * kColumns;
  const Graph graph = stored_weights(kRows, kColumns);
  const int64_t growth = test::peak_growth([&] {
    const auto lowered = lower(graph);
    return lowered.ok() && lowered->graph.constants().size() > 0;
  });
  ASSERT_GE(growth, 0);
  EXPECT_LT(growth, 4 * kCodes) << "one float for each code";
}

TEST(LowerMemory, ZeroPointsThatDoNotFitTheScalesAreStillFound) {
  // Type inference lets it pass: as many zero points as rows, and one scale.
  Graph g;
  g.opsets[""] = 17;
  const ValueId x = g.add_input("x", {DType::kFloat32, std::vector<Dim>{2, 3}, {}});
  const ValueId w = g.emit("DequantizeLinear",
                           {g.add_constant("codes", Tensor::zeros(DType::kInt8, {3, 3}).value()),
                            g.add_constant("scale", Tensor::scalar(0.5F)),
                            g.add_constant("zeros", Tensor::zeros(DType::kInt8, {3}).value())},
                           {}, "w");
  g.mark_output(g.emit("MatMul", {x, w}, {}));
  const auto lowered = lower(g);
  if (!lowered.ok()) return; // refused with a reason
  const auto executor = make_reference_executor(lowered->graph);
  ASSERT_TRUE(executor.ok());
  const auto ran =
      (*executor)->run(std::vector<Tensor>{Tensor::zeros(DType::kFloat32, {2, 3}).value()});
  ASSERT_FALSE(ran.ok());
  EXPECT_NE(ran.error().text().find("3 zero points for 1 scales"), std::string::npos)
      << ran.error().text();
}

} // namespace
} // namespace octet
