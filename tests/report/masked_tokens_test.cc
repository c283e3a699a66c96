// SPDX-License-Identifier: Apache-2.0
// Metrics of language models against closed forms.
#include <cmath>

#include <gtest/gtest.h>

#include "octet/masked_tokens.h"

namespace octet {
namespace {

TEST(MaskedTokens, MatchesClosedForms) {
  // Rows: uniform over 8; log of 1/2, 1/4, 1/8, 1/8 on the first four.
  const float low = -1e30F, l2 = std::log(2.0F);
  const Tensor logits =
      Tensor::of<float>({1, 3, 8}, {7,   7,       7,       7,       7,   7,   7,   7,   //
                                    -l2, -2 * l2, -3 * l2, -3 * l2, low, low, low, low, //
                                    0,   1,       2,       3,       4,   5,   6,   7});
  MaskedTokens m;
  ASSERT_TRUE(m.add(logits, Tensor::of<int64_t>({1, 3}, {5, 2, -100})).ok());
  EXPECT_EQ(m.count(), 2);
  EXPECT_NEAR(m.loss(), 3 * std::log(2.0), 1e-6);
  EXPECT_NEAR(m.perplexity(), 8, 1e-5);
  EXPECT_NEAR(m.loss_interval().first, m.loss(), 1e-6); // both are log 8
  EXPECT_EQ(m.top1(), 0);   // equal scores: the first five are before token 5
  EXPECT_EQ(m.top5(), 0.5); // the third of the second row
  ASSERT_TRUE(m.add(logits, Tensor::of<int32_t>({3}, {-1, 0, 7})).ok());
  EXPECT_EQ(m.top1(), 0.5);
  EXPECT_EQ(m.top5(), 0.75);
  EXPECT_EQ(m.labels(), (std::vector<int64_t>{5, 2, 0, 7}));
  EXPECT_EQ(m.predictions(), (std::vector<int64_t>{0, 0, 0, 7}));
  EXPECT_LT(m.top5_interval().first, 0.75);
  EXPECT_GT(m.top5_interval().second, 0.75);
  // Losses: log 8 twice, log 2, and of the last row log(1 + 1/e + ... + 1/e^7).
  const double last = std::log((1 - std::exp(-8.0)) / (1 - std::exp(-1.0)));
  const double losses[] = {3 * std::log(2.0), 3 * std::log(2.0), std::log(2.0), last};
  const double mean = (losses[0] + losses[1] + losses[2] + losses[3]) / 4;
  double variance = 0;
  for (const double loss : losses)
    variance += (loss - mean) * (loss - mean) / 3;
  EXPECT_NEAR(m.loss_interval().first, mean - 1.96 * std::sqrt(variance / 4), 1e-6);
  EXPECT_NEAR(m.loss_interval().second, mean + 1.96 * std::sqrt(variance / 4), 1e-6);
}

TEST(MaskedTokens, KnowsTheUnigramBaseline) {
  MaskedTokens m;
  const Tensor logits = Tensor::zeros(DType::kFloat32, {4, 3}).value();
  ASSERT_TRUE(m.add(logits, Tensor::of<int64_t>({4}, {0, 2, 2, 1})).ok());
  EXPECT_NEAR(m.unigram_entropy(), 1.5 * std::log(2.0), 1e-12);
  EXPECT_EQ(m.unigram_top1(), 0.5);
  EXPECT_FALSE(m.add(logits, Tensor::of<int64_t>({4}, {0, 3, 2, 1})).ok());
  EXPECT_FALSE(m.add(logits, Tensor::of<int64_t>({3}, {0, 1, 2})).ok());
}

TEST(MaskedTokens, SoftmaxIsStable) {
  const std::vector<float> scores = {10000, 10000 + std::log(3.0F), -10000};
  const auto p = softmax(scores);
  EXPECT_NEAR(p[0], 0.25, 1e-4);
  EXPECT_NEAR(p[1], 0.75, 1e-4);
  EXPECT_EQ(p[2], 0);
}

} // namespace
} // namespace octet
