// SPDX-License-Identifier: Apache-2.0
// What several machines observed of parts of the data, merged, is what one observes, bit for bit.
#include <algorithm>
#include <fstream>

#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/range_shards.h"

namespace octet {
namespace {

const std::vector<Calibrator> kEach = {MinMax{}, MovingAverage{0.05}, Percentile{99.0}, Entropy{},
                                       Mse{}};

/// Rows of numbers whose magnitudes differ widely, with a mask whose padding holds huge ones.
class Rows final : public Dataset {
 public:
  explicit Rows(int64_t rows, float factor = 1) : rows_(rows), factor_(factor) {}
  std::string description() const override { return "rows"; }
  int64_t size() const override { return rows_; }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    std::vector<float> x;
    std::vector<int64_t> mask;
    for (const int64_t row : indices) {
      const Tensor drawn =
          test::random_tensor({kLength, kWidth}, static_cast<uint32_t>(row), -1, 2);
      for (int64_t i = 0; i < kLength; ++i) {
        const bool kept = i <= row % kLength;
        mask.push_back(kept ? 1 : 0);
        for (int64_t j = 0; j < kWidth; ++j)
          x.push_back(kept ? factor_ * static_cast<float>(drawn.at(i * kWidth + j) *
                                                          std::pow(1.3, row % 17))
                           : 1e9F);
      }
    }
    const auto n = static_cast<int64_t>(indices.size());
    Batch out;
    out.inputs = {{"x", Tensor::of<float>({n, kLength, kWidth}, std::span<const float>(x))},
                  {"mask", Tensor::of<int64_t>({n, kLength}, std::span<const int64_t>(mask))}};
    return out;
  }

 private:
  static constexpr int64_t kLength = 4, kWidth = 8;
  int64_t rows_;
  float factor_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_;
};

/// `batch`: a number, or a symbol.
Graph network(const std::string& batch) {
  return test::with_weights("graph g opset(\"\"=17)\n"
                            "input x: f32[" +
                            batch +
                            ", 4, 8]\n"
                            "input mask: i64[" +
                            batch +
                            ", 4]\n"
                            "const w: f32[8, 8] = ?\n"
                            "m = MatMul(x, w)\n"
                            "r = Relu(m)\n"
                            "t = Tanh(m)\n"
                            "f = Cast(mask) {to=1}\n"
                            "output r: f32[" +
                            batch +
                            ", 4, 8]\n"
                            "output t: f32[" +
                            batch +
                            ", 4, 8]\n"
                            "output f: f32[" +
                            batch + ", 4]\n");
}

std::string path_of(int64_t index) {
  return testing::TempDir() + "range_shard_" + std::to_string(index);
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Writes each part, and merges the files in another order than theirs.
Result<RangeShard>
in_parts(const Graph& graph, const Dataset& data, const QuantizeOptions& options, int64_t count) {
  std::vector<std::string> paths;
  for (int64_t i = 1; i <= count; ++i) {
    write(path_of(i), shard_text(observe_shard(graph, data, options, {i, count}).value()));
    paths.push_back(path_of(i));
  }
  std::rotate(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(paths.size() / 2),
              paths.end());
  return merge_shards(paths);
}

TEST(RangeShards, AreOneRunBitForBitForEachCalibrator) {
  const Rows data(61);
  for (const char* batch : {"N", "5", "1"})
    for (const Calibrator& calibrator : kEach)
      for (const bool symmetric : {true, false})
        for (const char* mask : {"", "mask"}) {
          const Graph graph = network(batch);
          const QuantizeOptions options{.calibrator = calibrator,
                                        .symmetric = symmetric,
                                        .samples = 53,
                                        .batch_size = 4,
                                        .mask_input = mask};
          SCOPED_TRACE(name(calibrator) + " " + batch + " " + mask);
          const auto wanted = observe_ranges(graph, data, options).value();
          const std::string whole = shard_text(observe_shard(graph, data, options, {}).value());
          ASSERT_EQ(wanted.size(), 5U);
          if (*mask != 0) {
            EXPECT_LT(wanted[0].range.hi, 1e4); // padding does not count
          } else if (calibrator == Calibrator(MinMax{})) {
            EXPECT_EQ(wanted[0].range.hi, 1e9);
          }
          for (const int64_t count : {1, 3, 7}) {
            const RangeShard merged = in_parts(graph, data, options, count).value();
            EXPECT_EQ(ranges_of(merged).value(), wanted) << count;
            EXPECT_EQ(shard_text(merged), whole) << count;
          }
        }
}

TEST(RangeShards, MorePartsThanBatches) {
  const Rows data(9);
  const Graph graph = network("N");
  const QuantizeOptions options{.calibrator = Entropy{}, .batch_size = 4};
  EXPECT_EQ(ranges_of(in_parts(graph, data, options, 7).value()).value(),
            observe_ranges(graph, data, options).value());
  int64_t seen = 0;
  for (int64_t i = 1; i <= 7; ++i)
    seen += observe_shard(graph, data, options, {i, 7}).value().samples;
  EXPECT_EQ(seen, 9);
}

TEST(RangeShards, OneHistogramServesOtherCalibrators) {
  const Rows data(30);
  const Graph graph = network("N");
  QuantizeOptions options{.calibrator = Entropy{}, .symmetric = false, .mask_input = "mask"};
  options.batch_size = 8;
  const RangeShard merged = in_parts(graph, data, options, 3).value();
  for (const Calibrator& other : {Calibrator(MinMax{}), Calibrator(Percentile{99.5}),
                                  Calibrator(Mse{}), options.calibrator}) {
    options.calibrator = other;
    EXPECT_EQ(ranges_of(merged, other).value(), observe_ranges(graph, data, options).value())
        << name(other);
  }
  EXPECT_FALSE(ranges_of(merged, MovingAverage{}).ok());
}

std::string refusal(const std::vector<std::string>& paths) {
  const auto merged = merge_shards(paths);
  return merged.ok() ? "merged" : merged.error().text();
}

TEST(RangeShards, RefusesWhatIsMissingTwiceOrForeign) {
  const Rows data(40);
  const Graph graph = network("N");
  const QuantizeOptions options{.calibrator = Mse{}, .batch_size = 8};
  ASSERT_TRUE(in_parts(graph, data, options, 3).ok());
  const std::vector<std::string> all = {path_of(1), path_of(2), path_of(3)};
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(refusal({}), "no shards");
  says(refusal({all[0], all[2]}), "missing: 2/3");
  says(refusal({all[0], all[1], all[1], all[2]}), path_of(2) + ": shard 2/3 is");
  says(refusal({all[0], all[1], testing::TempDir() + "no_such_shard"}), "no_such_shard");
  const auto foreign = [&](const std::string& what, const Graph& g, const Dataset& d,
                           const QuantizeOptions& o, Shard shard = {2, 3}) {
    const std::string path = testing::TempDir() + "range_shard_foreign";
    write(path, shard_text(observe_shard(g, d, o, shard).value()));
    const std::string text = refusal({all[0], path, all[2]});
    says(text, path);
    says(text, what);
  };
  const auto with = [&](auto change) {
    QuantizeOptions o = options;
    change(o);
    return o;
  };
  foreign("the model is", network("8"), data, options);
  foreign("the data is", graph, Rows(40, 1.5F), options);
  foreign("the number of samples is 41", graph, Rows(41), options);
  foreign("the calibrator is entropy", graph, data,
          with([](QuantizeOptions& o) { o.calibrator = Entropy{}; }));
  foreign("the scheme is int8 asymmetric", graph, data,
          with([](QuantizeOptions& o) { o.symmetric = false; }));
  foreign("the mask is \"mask\"", graph, data,
          with([](QuantizeOptions& o) { o.mask_input = "mask"; }));
  foreign("the batch is 4", graph, data, with([](QuantizeOptions& o) { o.batch_size = 4; }));
  foreign("a shard of 4", graph, data, options, {2, 4});
}

/// Each byte that is changed or missing is found, whatever it stands for.
TEST(RangeShards, RefusesWhatWasDamaged) {
  const Rows data(6);
  for (const Calibrator& calibrator : kEach) {
    const QuantizeOptions options{.calibrator = calibrator, .batch_size = 2};
    const RangeShard shard = observe_shard(network("N"), data, options, {1, 2}).value();
    const std::string text = shard_text(shard);
    EXPECT_EQ(shard_text(parse_shard_text(text).value()), text);
    for (size_t i = 0; i < text.size(); i += 1 + i / 64) {
      std::string changed = text;
      changed[i] = changed[i] == '7' ? '8' : '7';
      EXPECT_FALSE(parse_shard_text(changed).ok()) << i;
      EXPECT_FALSE(parse_shard_text(text.substr(0, i)).ok()) << i;
    }
    EXPECT_FALSE(parse_shard_text(text + "\n").ok());
  }
}

TEST(RangeShards, NamesOfShards) {
  EXPECT_EQ(parse_shard("3/8").value(), (Shard{3, 8}));
  EXPECT_EQ(parse_shard("1/1").value(), (Shard{1, 1}));
  for (const char* none : {"", "3", "0/8", "9/8", "1/0", "-1/8", "1/8/2", "a/b", "1/65537"})
    EXPECT_FALSE(parse_shard(none).ok()) << none;
  EXPECT_FALSE(observe_shard(network("N"), Rows(2), {}, {3, 2}).ok());
}

} // namespace
} // namespace octet
