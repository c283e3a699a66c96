// SPDX-License-Identifier: Apache-2.0
// Learned rounding beside all ways that there are.
#include <cmath>
#include <limits>

#include "core/philox.h"
#include "train/rounding/learn_rounding.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet::test {
namespace {

constexpr int64_t kRows = 64, kIn = 3, kHidden = 2, kOut = 1;
constexpr double kStep = 0.5;

/// y = relu(x w) v, with the weights on a coarse grid.
class Tiny {
 public:
  explicit Tiny(uint64_t seed = 3) {
    Philox random(seed);
    for (size_t i = 0; i < kIn * kHidden + kHidden * kOut; ++i)
      weights_.push_back(static_cast<float>(random.uniform(-1.2, 1.2)));
    for (int64_t i = 0; i < kRows * kIn; ++i)
      x_.push_back(static_cast<float>(random.uniform(0, 1)) +
                   (i % kIn > 0 ? 0.8F * x_.back() : 0.0F)); // inputs that depend on one another
  }

  RoundingRequest request() const {
    RoundingRequest out;
    out.part = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 3]\n"
                           "const w: f32[3, 2] = [0, 0, 0, 0, 0, 0]\n"
                           "const v: f32[2, 1] = [0, 0]\n"
                           "h = MatMul(x, w) \"first\"\nr = Relu(h) \"relu\"\n"
                           "y = MatMul(r, v) \"second\"\noutput y: f32[N, 1]\n")
                   .value();
    const auto add = [&](const char* name, const Shape& shape, size_t first) {
      std::vector<float> whole, below, gap;
      for (int64_t i = 0; i < element_count(shape).value(); ++i) {
        whole.push_back(weights_[first + static_cast<size_t>(i)]);
        below.push_back(static_cast<float>(low(first + static_cast<size_t>(i))));
        gap.push_back(kStep);
      }
      out.part.set_constant(*out.part.find_value(name),
                            Tensor::of<float>(shape, std::span<const float>(whole)));
      out.weights.push_back({name, Tensor::of<float>(shape, std::span<const float>(below)),
                             Tensor::of<float>(shape, std::span<const float>(gap))});
    };
    add("w", {kIn, kHidden}, 0);
    add("v", {kHidden, kOut}, kIn * kHidden);
    std::vector<double> exact(weights_.begin(), weights_.end());
    std::vector<float> wanted;
    for (const double y : outputs(exact))
      wanted.push_back(static_cast<float>(y));
    const Tensor x = Tensor::of<float>({kRows, kIn}, std::span<const float>(x_));
    out.fitted.push_back(
        {kRows, {x}, {Tensor::of<float>({kRows, kOut}, std::span<const float>(wanted))}, {{}}});
    out.iterations = 2000;
    return out;
  }

  /// The mean square error when bit i says whether weight i goes up.
  double error(uint32_t up) const {
    std::vector<double> rounded, exact(weights_.begin(), weights_.end());
    for (size_t i = 0; i < weights_.size(); ++i)
      rounded.push_back(low(i) + ((up >> i & 1U) != 0 ? kStep : 0));
    const std::vector<double> a = outputs(exact), b = outputs(rounded);
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
      sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / static_cast<double>(a.size());
  }
  uint32_t nearest() const {
    uint32_t out = 0;
    for (size_t i = 0; i < weights_.size(); ++i)
      if (static_cast<double>(weights_[i]) - low(i) > kStep / 2) out |= 1U << i;
    return out;
  }
  size_t count() const { return weights_.size(); }

 private:
  double low(size_t i) const {
    return std::floor(static_cast<double>(weights_[i]) / kStep) * kStep;
  }
  std::vector<double> outputs(const std::vector<double>& w) const {
    std::vector<double> out;
    for (int64_t row = 0; row < kRows; ++row) {
      double y = 0;
      for (int64_t h = 0; h < kHidden; ++h) {
        double sum = 0;
        for (int64_t k = 0; k < kIn; ++k)
          sum += static_cast<double>(x_[static_cast<size_t>(row * kIn + k)]) *
                 w[static_cast<size_t>(k * kHidden + h)];
        y += std::max(sum, 0.0) * w[static_cast<size_t>(kIn * kHidden + h)];
      }
      out.push_back(y);
    }
    return out;
  }

  std::vector<float> weights_, x_;
};

uint32_t bits_of(const LearnedRounding& learned) {
  uint32_t out = 0, at = 0;
  for (const Tensor& up : learned.up)
    for (int64_t i = 0; i < up.count(); ++i, ++at)
      if (up.at(i) != 0) out |= 1U << at;
  return out;
}

TEST(LearnRounding, OfTwoLayersErrsLessThanTheNearest) {
  double gain = 0;
  constexpr int kProblems = 8;
  for (uint64_t seed = 1; seed <= kProblems; ++seed) {
    const Tiny tiny(seed);
    const auto learned = train::learn_rounding(tiny.request());
    ASSERT_TRUE(learned.ok()) << learned.error().text();
    const double found = tiny.error(bits_of(*learned)), nearest = tiny.error(tiny.nearest());
    EXPECT_NEAR(learned->learned, found, 1e-4 * found);
    EXPECT_NEAR(learned->nearest, nearest, 1e-4 * nearest);
    EXPECT_LE(found, nearest) << seed;
    gain += std::log(found / nearest) / kProblems;
  }
  EXPECT_LT(std::exp(gain), 0.9);
}

/// y = relu(x w) of inputs that go up and down together, where what single weights lose adds up.
TEST(LearnRounding, IsAmongTheBestOfAllWays) {
  constexpr int kProblems = 8;
  constexpr size_t kWeights = 10;
  int64_t among = 0;
  double gain = 0;
  for (uint64_t seed = 1; seed <= kProblems; ++seed) {
    Philox random(seed, 1);
    std::vector<float> x, w, below, gap(kWeights, static_cast<float>(kStep));
    for (int64_t row = 0; row < kRows; ++row) {
      const double common = random.uniform(0, 1);
      for (size_t k = 0; k < kWeights; ++k)
        x.push_back(static_cast<float>(common + random.uniform(0, 0.3)));
    }
    for (size_t k = 0; k < kWeights; ++k) {
      w.push_back(static_cast<float>(random.uniform(-0.4, 1.2)));
      below.push_back(static_cast<float>(std::floor(static_cast<double>(w[k]) / kStep) * kStep));
    }
    const auto outputs = [&](const std::vector<float>& by) {
      std::vector<float> out;
      for (size_t row = 0; row < kRows; ++row) {
        double sum = 0;
        for (size_t k = 0; k < kWeights; ++k)
          sum += static_cast<double>(x[row * kWeights + k]) * static_cast<double>(by[k]);
        out.push_back(static_cast<float>(std::max(sum, 0.0)));
      }
      return out;
    };
    const std::vector<float> wanted = outputs(w);
    const auto error = [&](uint32_t up) {
      std::vector<float> rounded = below;
      for (size_t k = 0; k < kWeights; ++k)
        if ((up >> k & 1U) != 0) rounded[k] += gap[k];
      const std::vector<float> made = outputs(rounded);
      double sum = 0;
      for (size_t i = 0; i < made.size(); ++i)
        sum += std::pow(static_cast<double>(made[i]) - static_cast<double>(wanted[i]), 2);
      return sum / kRows;
    };
    RoundingRequest request;
    request.part = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 10]\n"
                               "const w: f32[10, 1] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n"
                               "h = MatMul(x, w) \"product\"\ny = Relu(h) \"relu\"\n"
                               "output y: f32[N, 1]\n")
                       .value();
    const auto tensor = [](const Shape& shape, const std::vector<float>& values) {
      return Tensor::of<float>(shape, std::span<const float>(values));
    };
    request.part.set_constant(*request.part.find_value("w"), tensor({kWeights, 1}, w));
    request.weights.push_back({"w", tensor({kWeights, 1}, below), tensor({kWeights, 1}, gap)});
    request.fitted.push_back(
        {kRows, {tensor({kRows, kWeights}, x)}, {tensor({kRows, 1}, wanted)}, {{}}});
    request.iterations = 2000;
    const auto learned = train::learn_rounding(request);
    ASSERT_TRUE(learned.ok()) << learned.error().text();
    const double found = error(bits_of(*learned));
    EXPECT_NEAR(learned->learned, found, 1e-3 * found);
    int64_t better = 0;
    for (uint32_t up = 0; up < (1U << kWeights); ++up)
      better += error(up) < found ? 1 : 0;
    among += better < 32 ? 1 : 0; // of 1024
    gain += std::log(found / learned->nearest) / kProblems;
  }
  EXPECT_GE(among, 5);
  EXPECT_LT(std::exp(gain), 0.5);
}

TEST(LearnRounding, TheSameRequestGivesTheSameCodes) {
  const Tiny tiny;
  RoundingRequest request = tiny.request();
  request.batch = 16;
  request.iterations = 300;
  const auto once = train::learn_rounding(request), again = train::learn_rounding(request);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(bits_of(*once), bits_of(*again));
  EXPECT_EQ(once->learned, again->learned);
}

TEST(LearnRounding, SaysWhatIsWrongAndStops) {
  const Tiny tiny;
  RoundingRequest request = tiny.request();
  request.progress = [](int64_t done) { return done < 5; };
  const auto stopped = train::learn_rounding(request);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
  request = tiny.request();
  request.weights[0].constant = "nobody";
  EXPECT_NE(train::learn_rounding(request).error().text().find("\"nobody\""), std::string::npos);
  request = tiny.request();
  request.fitted.clear();
  EXPECT_NE(train::learn_rounding(request).error().text().find("no examples"), std::string::npos);
}

TEST(LearnRounding, MaskedElementsDoNotCount) {
  const Tiny tiny;
  RoundingRequest request = tiny.request();
  RoundingExamples& examples = request.fitted[0];
  // The second half of the outputs is spoiled and masked: the errors are those of the first half.
  std::vector<float> wanted = examples.wanted[0].to_floats().value(), counts(kRows, 1.0F);
  for (size_t i = kRows / 2; i < kRows; ++i) {
    wanted[i] = 1000;
    counts[i] = 0;
  }
  examples.wanted[0] = Tensor::of<float>({kRows, 1}, std::span<const float>(wanted));
  examples.counts[0] = Tensor::of<float>({kRows, 1}, std::span<const float>(counts));
  const auto learned = train::learn_rounding(request);
  ASSERT_TRUE(learned.ok()) << learned.error().text();
  EXPECT_LT(learned->nearest, 1);
  EXPECT_LE(learned->learned, learned->nearest);
}

} // namespace
} // namespace octet::test
