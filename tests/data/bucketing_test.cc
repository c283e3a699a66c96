// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/philox.h"
#include "data/bucketing.h"
#include <gtest/gtest.h>

#include "octet/dataset.h"

namespace octet {
namespace {

class Lengths final : public Dataset {
 public:
  explicit Lengths(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {}
  std::string description() const override { return "lengths"; }
  int64_t size() const override { return static_cast<int64_t>(lengths_.size()); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t>) const override { return Batch(); }
  int64_t length(int64_t index) const override { return lengths_[static_cast<size_t>(index)]; }

 private:
  std::vector<int64_t> lengths_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_;
};

Lengths random_lengths(int64_t n) {
  Philox random(3);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < n; ++i)
    lengths.push_back(5 + random.below(200));
  return Lengths(std::move(lengths));
}

/// Padded tokens of all batches.
int64_t cost(const Dataset& data, const std::vector<int64_t>& order, size_t batch) {
  int64_t sum = 0;
  for (size_t begin = 0; begin < order.size(); begin += batch) {
    const size_t end = std::min(begin + batch, order.size());
    int64_t longest = 0;
    for (size_t i = begin; i < end; ++i)
      longest = std::max(longest, data.length(order[i]));
    sum += longest * static_cast<int64_t>(end - begin);
  }
  return sum;
}

TEST(BucketedOrder, HoldsEveryExampleOnceAndPadsLittle) {
  const Lengths data = random_lengths(10007);
  std::vector<int64_t> order = bucketed_order(data, 32, 1, 0);
  int64_t tokens = 0;
  for (int64_t i = 0; i < data.size(); ++i)
    tokens += data.length(i);
  EXPECT_LT(cost(data, order, 32), tokens + tokens / 20);
  EXPECT_GT(cost(data, permutation(data.size(), 1, 0), 32), tokens + tokens / 2);
  // Batches are not sorted: their mean lengths go up about as often as down.
  int up = 0;
  const int batches = 10007 / 32;
  for (int b = 1; b < batches; ++b)
    up += data.length(order[static_cast<size_t>(b) * 32]) >
          data.length(order[static_cast<size_t>(b - 1) * 32]);
  EXPECT_NEAR(up, 0.5 * batches, 0.125 * batches);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> all(10007);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(BucketedOrder, DependsOnSeedAndEpochAlone) {
  const Lengths data = random_lengths(500);
  EXPECT_EQ(bucketed_order(data, 8, 1, 2), bucketed_order(data, 8, 1, 2));
  EXPECT_NE(bucketed_order(data, 8, 1, 2), bucketed_order(data, 8, 1, 3));
  EXPECT_NE(bucketed_order(data, 8, 1, 2), bucketed_order(data, 8, 2, 2));
}

TEST(BucketedOrder, IsThePermutationWhereLengthsAreEqual) {
  const Lengths data(std::vector<int64_t>(100, 1));
  EXPECT_EQ(bucketed_order(data, 8, 1, 2), permutation(100, 1, 2));
  EXPECT_TRUE(bucketed_order(Lengths({}), 8, 1, 2).empty());
}

} // namespace
} // namespace octet
