// SPDX-License-Identifier: Apache-2.0
// The native executor against the reference executor on the same lowered graph: equal bits, for
// every instruction set that this machine has, any number of threads and any split of the batch.

#include "core/cpu.h"
#include "passes/lower/lower.h"
#include "runtime/rows.h"
#include "runtime/w1_graphs.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/models.h"
#include "octet/session.h"

namespace octet {
namespace {

using test::QdqForm;
using test::random_images;
using test::rows;
using test::W1Builder;

class W1 : public ::testing::TestWithParam<QdqForm> {};

TEST_P(W1, EveryLayerIsInteger) {
  const Result<Lowered> lowered = lower(W1Builder(GetParam()).build());
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  const Graph& g = lowered->graph;
  std::map<std::string, int> count;
  for (const NodeId id : g.nodes())
    ++count[g.node(id).op_type];
  EXPECT_EQ(count["QConv"], 2) << print(g);
  EXPECT_EQ(count["QGemm"], 2) << print(g);
  EXPECT_EQ(count["Transpose"], 0) << print(g);
  EXPECT_EQ(count["QAveragePool"] + count["AveragePool"], 1) << print(g);
  EXPECT_EQ(count["Conv"] + count["Gemm"], 0) << print(g);
}

TEST_P(W1, NativeEqualsReferenceBitForBit) {
  const Graph model = W1Builder(GetParam()).build();
  const Result<Lowered> lowered = lower(model);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  const Tensor x = random_images(23, 1);
  auto reference = make_reference_executor(lowered->graph);
  ASSERT_TRUE(reference.ok());
  const auto want = (*reference)->run(std::vector<Tensor>{x});
  ASSERT_TRUE(want.ok()) << want.error().text();
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    for (const int threads : {1, 2, 3}) {
      auto session = Session::create(
          model, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = true});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (const int64_t batch : {1, 7, 23}) {
        for (int64_t at = 0; at + batch <= 23; at += batch) {
          const auto got = session->run(std::vector<Tensor>{rows(x, at, batch)});
          ASSERT_TRUE(got.ok()) << got.error().text();
          EXPECT_TRUE((*got)[0].identical(rows((*want)[0], at, batch)))
              << isa_name(isa) << ", " << threads << " threads, batch " << batch << " at " << at;
        }
      }
    }
  }
}

/// The lowered graph may differ from the literal Q/DQ graph by a code at a tie; behind the softmax
/// that is a small change of the probabilities.
TEST_P(W1, LoweredMeansWhatTheModelMeans) {
  const Graph model = W1Builder(GetParam()).build();
  const Tensor x = random_images(40, 2);
  auto literal = make_reference_executor(model);
  ASSERT_TRUE(literal.ok());
  const auto want = (*literal)->run(std::vector<Tensor>{x});
  ASSERT_TRUE(want.ok()) << want.error().text();
  auto session = Session::create(model);
  ASSERT_TRUE(session.ok()) << session.error().text();
  const auto got = session->run(std::vector<Tensor>{x});
  ASSERT_TRUE(got.ok());
  int far = 0;
  for (int64_t i = 0; i < (*want)[0].count(); ++i)
    far += std::abs((*want)[0].at(i) - (*got)[0].at(i)) > 0.02 ? 1 : 0;
  EXPECT_LE(far, 4);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, W1, ::testing::Values(QdqForm::kTensorRt, QdqForm::kOnnxRuntime, QdqForm::kUint8));

TEST(Session, FloatEqualsReferenceBitForBit) {
  auto model = make_cnn({.dropout = 0});
  ASSERT_TRUE(model.ok());
  const Result<Lowered> lowered = lower(*model);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  const Tensor x = random_images(9, 3);
  auto reference = make_reference_executor(lowered->graph);
  const auto want = (*reference)->run(std::vector<Tensor>{x});
  ASSERT_TRUE(want.ok()) << want.error().text();
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    auto session =
        Session::create(*model, {.threads = 2, .isa = std::string(isa_name(isa)), .lower = true});
    ASSERT_TRUE(session.ok()) << session.error().text();
    const auto got = session->run(std::vector<Tensor>{x});
    ASSERT_TRUE(got.ok()) << got.error().text();
    EXPECT_TRUE((*got)[0].identical((*want)[0])) << isa_name(isa);
  }
}

TEST(Session, WrongInputsAreNamed) {
  auto model = make_cnn({.dropout = 0});
  auto session = Session::create(*model);
  ASSERT_TRUE(session.ok()) << session.error().text();
  const auto text = [&](std::vector<Tensor> inputs) {
    const auto result = session->run(inputs);
    return result.ok() ? std::string("accepted") : result.error().text();
  };
  EXPECT_EQ(text({}), "the model has 1 inputs but got 0");
  EXPECT_EQ(text({Tensor::zeros(DType::kFloat32, {2, 1, 28, 27}).value()}),
            "input \"x\": the model wants f32[N, 1, 28, 28] but got f32[2, 1, 28, 27]");
  EXPECT_EQ(text({Tensor::zeros(DType::kInt8, {2, 1, 28, 28}).value()}),
            "input \"x\": the model wants f32[N, 1, 28, 28] but got i8[2, 1, 28, 28]");
}

TEST(Session, AnUnknownInstructionSetIsAnError) {
  auto model = make_cnn({.dropout = 0});
  EXPECT_FALSE(Session::create(*model, {.threads = 1, .isa = "mmx", .lower = true}).ok());
  EXPECT_FALSE(Session::create(*model, {.threads = -1, .isa = "", .lower = true}).ok());
}

} // namespace
} // namespace octet
