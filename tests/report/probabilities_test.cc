// SPDX-License-Identifier: Apache-2.0
// Whether a model's scores are probabilities, by what computes them, and what they become.
#include <cmath>

#include <gtest/gtest.h>

#include "octet/classification.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

ScoreKind kind_of(const std::string& nodes) {
  const auto graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n" + nodes + "output y: f32[N, 2]\n");
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  return graph.ok() ? score_kind(*graph) : ScoreKind::kLogits;
}

TEST(ScoreKind, GoesByWhatComputesTheOutput) {
  const std::string scales = "const s: f32[] = [0.01]\nconst z: u8[] = [0]\n";
  EXPECT_EQ(kind_of("y = Softmax(x)\n"), ScoreKind::kProbabilities);
  EXPECT_EQ(kind_of("y = Sigmoid(x)\n"), ScoreKind::kProbabilities);
  EXPECT_EQ(kind_of(scales + "p = Softmax(x)\nq = QuantizeLinear(p, s, z)\n"
                             "y = DequantizeLinear(q, s, z)\n"),
            ScoreKind::kProbabilities);
  EXPECT_EQ(kind_of("y = LogSoftmax(x)\n"), ScoreKind::kLogits);
  EXPECT_EQ(kind_of("p = Softmax(x)\ny = Neg(p)\n"), ScoreKind::kLogits);
  EXPECT_EQ(kind_of("y = Relu(x)\n"), ScoreKind::kLogits);
}

TEST(Probabilities, OfLogitsAndOfProbabilities) {
  const std::vector<float> values = {1, 3, 0.25F, 0.75F, 0.25F, 0.25F};
  const Tensor scores = Tensor::of<float>(Shape{3, 2}, std::span(values));
  const auto soft = probabilities(scores, ScoreKind::kLogits);
  ASSERT_TRUE(soft.ok());
  const double e = 1 / (1 + std::exp(2.0));
  EXPECT_NEAR(soft->at(0), e, 1e-6);
  EXPECT_NEAR(soft->at(1), 1 - e, 1e-6);
  EXPECT_EQ(soft->at(2), 0.25); // a row of probabilities already
  EXPECT_EQ(soft->at(3), 0.75);
  EXPECT_NEAR(soft->at(4), 0.5, 1e-6);
  const auto same = probabilities(scores, ScoreKind::kProbabilities);
  ASSERT_TRUE(same.ok());
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(same->at(i), scores.at(i));
  EXPECT_FALSE(probabilities(*scores.reshaped({6}), ScoreKind::kLogits).ok());
}

} // namespace
} // namespace octet
