// SPDX-License-Identifier: Apache-2.0
// A BERT encoder in the native executor: no step runs by reference, and the bits are those of the
// reference executor on the lowered graph for every instruction set, number of threads and split of
// the batch.
#include <map>

#include "core/cpu.h"
#include "passes/lower/lower.h"
#include "runtime/bert_graphs.h"
#include "runtime/rows.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

using test::BertBuilder;
using test::BertOptions;
using test::random_tokens;
using test::rows;

std::vector<Tensor> rows(const std::vector<Tensor>& list, int64_t begin, int64_t count) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const Tensor& t : list)
    out.push_back(rows(t, begin, count));
  return out;
}

class Bert : public ::testing::TestWithParam<BertOptions> {};

TEST_P(Bert, NoStepRunsByReference) {
  auto session = Session::create(BertBuilder(GetParam()).build());
  ASSERT_TRUE(session.ok()) << session.error().text();
  for (const PlannedNode& n : session->plan())
    EXPECT_NE(n.kernel, "reference") << n.node << ": " << n.why;
}

TEST_P(Bert, ProductsAndChainsAreFused) {
  const Result<Lowered> lowered = lower(BertBuilder(GetParam()).build());
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  std::map<std::string, int> count;
  for (const NodeId id : lowered->graph.nodes())
    ++count[lowered->graph.node(id).op_type];
  const int products = 2 * 6 + 2;
  EXPECT_EQ(count[GetParam().quantized ? "QGemm" : "Gemm"], products) << print(lowered->graph);
  EXPECT_EQ(count[GetParam().quantized ? "QAttention" : "Attention"], 2) << print(lowered->graph);
  EXPECT_EQ(count["MatMul"] + count["QMatMul"] + count["Softmax"], 0) << print(lowered->graph);
  EXPECT_EQ(count["LayerNormalization"], 5) << print(lowered->graph);
  EXPECT_EQ(count["Erf"] + count["ReduceMean"] + count["Pow"], 0) << print(lowered->graph);
}

TEST_P(Bert, NativeEqualsReferenceBitForBit) {
  const Graph model = BertBuilder(GetParam()).build();
  const Result<Lowered> lowered = lower(model);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  auto reference = make_reference_executor(lowered->graph);
  ASSERT_TRUE(reference.ok());
  for (const int64_t length : {1, 5, 19}) {
    const std::vector<Tensor> tokens = random_tokens(6, length, 1);
    const auto want = (*reference)->run(tokens);
    ASSERT_TRUE(want.ok()) << want.error().text();
    for (const Isa isa : known_isas()) {
      if (!isa_supported(isa)) continue;
      for (const int threads : {1, 2, 3}) {
        auto session = Session::create(
            model, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = true});
        ASSERT_TRUE(session.ok()) << session.error().text();
        for (const int64_t batch : {1, 2, 6}) {
          for (int64_t at = 0; at + batch <= 6; at += batch) {
            const auto got = session->run(rows(tokens, at, batch));
            ASSERT_TRUE(got.ok()) << got.error().text();
            EXPECT_TRUE((*got)[0].identical(rows((*want)[0], at, batch)))
                << isa_name(isa) << ", " << threads << " threads, batch " << batch << " at " << at
                << ", length " << length;
          }
        }
      }
    }
  }
}

/// Against the graph as it was written. In float the two differ by rounding alone.
TEST_P(Bert, LoweredMeansWhatTheModelMeans) {
  const Graph model = BertBuilder(GetParam()).build();
  const std::vector<Tensor> tokens = random_tokens(4, 9, 2);
  auto literal = make_reference_executor(model);
  ASSERT_TRUE(literal.ok());
  const auto want = (*literal)->run(tokens);
  ASSERT_TRUE(want.ok()) << want.error().text();
  auto session = Session::create(model);
  ASSERT_TRUE(session.ok()) << session.error().text();
  const auto got = session->run(tokens);
  ASSERT_TRUE(got.ok()) << got.error().text();
  const double bound = GetParam().quantized ? 0.05 : 1e-4;
  for (int64_t i = 0; i < (*want)[0].count(); ++i)
    EXPECT_NEAR((*got)[0].at(i), (*want)[0].at(i), bound) << i;
}

INSTANTIATE_TEST_SUITE_P(Forms,
                         Bert,
                         ::testing::Values(BertOptions{},
                                           BertOptions{.layer_norm_chain = true},
                                           BertOptions{.quantized = true},
                                           BertOptions{.quantized = true,
                                                       .layer_norm_chain = true}));

TEST(BertSession, AnIndexOutOfRangeIsAnError) {
  auto session = Session::create(BertBuilder({}).build());
  ASSERT_TRUE(session.ok()) << session.error().text();
  std::vector<Tensor> tokens = random_tokens(1, 4, 3);
  tokens[0].mutable_data<int64_t>()[2] = 50;
  EXPECT_FALSE(session->run(tokens).ok());
  tokens[0].mutable_data<int64_t>()[2] = -50;
  EXPECT_TRUE(session->run(tokens).ok());
}

} // namespace
} // namespace octet
