// SPDX-License-Identifier: Apache-2.0
// Metrics of classifiers against published figures and closed forms.
#include <cmath>

#include <gtest/gtest.h>

#include "octet/classification.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

struct Examples {
  std::vector<int64_t> labels, predictions;
};

/// `counts[label][prediction]` examples of each kind.
Examples examples(const std::vector<std::vector<int>>& counts) {
  Examples out;
  for (size_t l = 0; l < counts.size(); ++l)
    for (size_t p = 0; p < counts[l].size(); ++p)
      for (int i = 0; i < counts[l][p]; ++i) {
        out.labels.push_back(static_cast<int64_t>(l));
        out.predictions.push_back(static_cast<int64_t>(p));
      }
  return out;
}

ConfusionMatrix matrix(const Examples& e, int64_t classes) {
  return ConfusionMatrix::of(e.labels, e.predictions, classes).value();
}

/// Rows of two scores that are their own classification.
class Scores : public Dataset {
 public:
  explicit Scores(std::vector<int64_t> labels) : labels_(std::move(labels)) {}
  std::string description() const override { return "scores"; }
  int64_t size() const override { return 5; }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override { return none_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    std::vector<float> x;
    std::vector<int64_t> labels;
    for (const int64_t i : indices) {
      x.insert(x.end(), {static_cast<float>(i % 2), 0.5F});
      if (!labels_.empty()) labels.push_back(labels_[static_cast<size_t>(i)]);
    }
    const auto n = static_cast<int64_t>(indices.size());
    Batch out;
    out.inputs.emplace_back("x", Tensor::of<float>({n, 2}, std::span<const float>(x)));
    if (!labels.empty()) out.labels = Tensor::of<int64_t>({n}, std::span<const int64_t>(labels));
    return out;
  }

 private:
  std::vector<int64_t> labels_;
  std::vector<std::pair<std::string, TypeInfo>> none_;
  std::vector<std::string> classes_ = {"a", "b"};
};

Result<Classification> classify_scores(std::vector<int64_t> labels,
                                       const ClassifyOptions& options = {}) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\ny = Identity(x)\n"
                                  "output y: f32[N, 2]\n")
                          .value();
  const auto executor = make_reference_executor(graph).value();
  return classify(graph, *executor, Scores(std::move(labels)), options);
}

TEST(Classify, CountsWhatIsRightInBatchesThatDoNotDivideTheSet) {
  ClassifyOptions options;
  options.batch = 2;
  int64_t calls = 0;
  options.progress = [&](int64_t, int64_t total) { return ++calls, total == 5; };
  const Classification all = classify_scores({1, 0, 1, 1, 0}, options).value();
  EXPECT_EQ(all.predictions, (std::vector<int64_t>{1, 0, 1, 0, 1}));
  EXPECT_DOUBLE_EQ(all.accuracy(), 0.6);
  EXPECT_EQ(calls, 3);
  options.limit = 3;
  options.progress = nullptr;
  EXPECT_DOUBLE_EQ(classify_scores({1, 0, 1, 1, 0}, options).value().accuracy(), 1);
}

/// log of x - 1/2 for scores of 0 and 1/2: NaN, and -inf, which is a number to compare with.
TEST(Classify, CountsExamplesWhoseScoresAreNoNumbers) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n"
                                  "const h: f32[] = [0.5]\nd = Sub(x, h)\ny = Log(d)\n"
                                  "output y: f32[N, 2]\n")
                          .value();
  const auto executor = make_reference_executor(graph).value();
  const Classification said = classify(graph, *executor, Scores({1, 0, 1, 1, 0})).value();
  EXPECT_EQ(said.not_numbers, 3); // x is 0 in examples 0, 2 and 4
}

TEST(Classify, SaysWhatDoesNotFit) {
  EXPECT_EQ(classify_scores({}).error().message(), "scores: has no labels");
  EXPECT_EQ(classify_scores({0, 1, 2, 0, 0}).error().message(),
            "example 2 of scores has label 2, the model has classes 0 .. 1");
  ClassifyOptions options;
  options.progress = [](int64_t, int64_t) { return false; };
  EXPECT_EQ(classify_scores({0, 1, 0, 0, 0}, options).error().code(), ErrorCode::kCancelled);
}

TEST(Classification, MatchesTheClosedFormsOfTwoClasses) {
  // TP 6, FN 2, FP 1, TN 3: the worked example of "Phi coefficient" in textbooks, MCC 0.478.
  const ConfusionMatrix m = matrix(examples({{3, 1}, {2, 6}}), 2);
  EXPECT_DOUBLE_EQ(m.accuracy(), 0.75);
  EXPECT_DOUBLE_EQ(m.f1(), 2.0 * 6 / (2 * 6 + 1 + 2));
  EXPECT_DOUBLE_EQ(m.matthews(), (6.0 * 3 - 1 * 2) / std::sqrt(7.0 * 8 * 4 * 5));
  EXPECT_NEAR(m.matthews(), 0.478, 0.0005);
}

TEST(Classification, MatchesPublishedFiguresOfThreeClasses) {
  // scikit-learn's documentation: f1_score([0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1]), macro 0.26...,
  // by class 0.8, 0, 0.
  const std::vector<int64_t> labels = {0, 1, 2, 0, 1, 2}, predictions = {0, 2, 1, 0, 0, 1};
  const ConfusionMatrix m = ConfusionMatrix::of(labels, predictions, 3).value();
  EXPECT_DOUBLE_EQ(m.f1(0), 0.8);
  EXPECT_EQ(m.f1(1), 0);
  EXPECT_NEAR(m.f1(), 0.8 / 3, 1e-12);
  // The same library's matthews_corrcoef([+1, +1, +1, -1], [+1, -1, +1, +1]) is -0.33...
  const std::vector<int64_t> l = {1, 1, 1, 0}, p = {1, 0, 1, 1};
  EXPECT_NEAR(ConfusionMatrix::of(l, p, 2).value().matthews(), -1.0 / 3, 1e-12);
}

TEST(Classification, HasItsExtremes) {
  EXPECT_DOUBLE_EQ(matrix(examples({{4, 0, 0}, {0, 2, 0}, {0, 0, 3}}), 3).matthews(), 1);
  EXPECT_DOUBLE_EQ(matrix(examples({{0, 4}, {2, 0}}), 2).matthews(), -1);
  EXPECT_EQ(matrix(examples({{3, 0}, {3, 0}}), 2).matthews(), 0); // one class is all it says
  EXPECT_EQ(matrix(examples({{3, 0}, {3, 0}}), 2).f1(), 0);
  EXPECT_NEAR(matrix(examples({{5, 5}, {5, 5}}), 2).matthews(), 0, 1e-15);
  const std::vector<int64_t> labels = {0, 2}, predictions = {0, 1};
  EXPECT_EQ(ConfusionMatrix::of(labels, predictions, 2).error().text(),
            "example 1 has label 2 and prediction 1; classes are 0 .. 1");
}

TEST(Classification, BootstrapCoversTheDeltaMethod) {
  // Accuracy-like case with a known spread: F1 = 2TP / (2TP + errors). By the delta method, with
  // n examples and t = P(TP), e = P(error): variance of F1 = 4 t e (t + e) / (2t + e)^4 / n ...
  // for independent cells of a multinomial.
  const Examples e = examples({{400, 50}, {50, 500}});
  const auto [low, high] =
      bootstrap_interval(ClassMetric::kF1, e.labels, e.predictions, 2, 4000).value();
  const double t = 0.5, w = 0.1, n = 1000, d = std::pow(2 * t + w, 4);
  // Gradient (2w, -2t) / (2t + w)^2; covariance of (t, w): t(1-t), w(1-w), -tw, each over n.
  const double variance =
      (4 * w * w * t * (1 - t) + 4 * t * t * w * (1 - w) + 8 * w * t * t * w) / d / n;
  const double half = 1.959964 * std::sqrt(variance), middle = matrix(e, 2).f1();
  EXPECT_NEAR(low, middle - half, 0.1 * half);
  EXPECT_NEAR(high, middle + half, 0.1 * half);
  const auto again = bootstrap_interval(ClassMetric::kF1, e.labels, e.predictions, 2, 4000).value();
  EXPECT_EQ(again.first, low);
}

/// As many classes as a wide output has columns: a resampling looks at those that it drew.
TEST(Classification, BootstrapCountsThousandsOfClasses) {
  constexpr int64_t kClasses = 4032;
  std::vector<int64_t> all(12);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int64_t>(i) * 300;
  const auto [low, high] = bootstrap_interval(ClassMetric::kF1, all, all, kClasses, 1000).value();
  EXPECT_GE(low, 4.0 / kClasses); // of 12 drawn with replacement, how many are there
  EXPECT_LE(high, 12.0 / kClasses);
  EXPECT_GT(high, low);
}

/// `both` right in both, then in the first only, the second only, and in none.
PairedTest paired(int both, int first, int second, int none) {
  std::vector<int64_t> labels, a, b;
  const auto add = [&](int count, int64_t x, int64_t y) {
    for (int i = 0; i < count; ++i) {
      labels.push_back(1);
      a.push_back(x);
      b.push_back(y);
    }
  };
  add(both, 1, 1);
  add(first, 1, 0);
  add(second, 0, 1);
  add(none, 0, 0);
  return mcnemar(labels, a, b).value();
}

TEST(McNemar, MatchesTheExactBinomial) {
  EXPECT_DOUBLE_EQ(paired(10, 0, 0, 10).p_value, 1);
  EXPECT_NEAR(paired(0, 0, 5, 0).p_value, 2.0 / 32, 1e-12);
  EXPECT_NEAR(paired(100, 1, 9, 4).p_value, 2 * 11.0 / 1024, 1e-12);
  EXPECT_DOUBLE_EQ(paired(7, 3, 3, 1).p_value, 1);
  // Agresti, Categorical Data Analysis, table 10.1: approval ratings 794, 150, 86, 570; z = -4.17,
  // which is p = 3.1e-5; the difference is -0.04 with a 95 % interval of (-0.0584, -0.0216).
  const PairedTest t = paired(794, 150, 86, 570);
  EXPECT_NEAR(t.difference, -0.04, 1e-12);
  EXPECT_NEAR(t.p_value, 3.1e-5, 1e-5);
  EXPECT_NEAR(t.interval.first, -0.0584, 5e-4);
  EXPECT_NEAR(t.interval.second, -0.0216, 5e-4);
}

TEST(McNemar, HoldsForManyExamples) {
  // 10,000 differing examples, 4,900 to 5,100: z = 2 with continuity correction 1.99, p 0.0466.
  EXPECT_NEAR(paired(0, 4900, 5100, 0).p_value, 0.0466, 0.0005);
  const std::vector<int64_t> two = {0, 1}, one = {0};
  EXPECT_FALSE(mcnemar(two, two, one).ok());
}

} // namespace
} // namespace octet
