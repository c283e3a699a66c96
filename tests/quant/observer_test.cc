// SPDX-License-Identifier: Apache-2.0
// Observers against implementations that keep every value.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "core/cpu.h"
#include "quant/observers/histogram.h"
#include "quant/observers/loops.h"
#include "quant/scheme.h"
#include <gtest/gtest.h>

#include "octet/observer.h"

namespace octet {
namespace {

std::vector<float> normal(size_t n, double mean, double deviation, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> draw(mean, deviation);
  std::vector<float> out(n);
  for (float& x : out)
    x = static_cast<float>(draw(generator));
  return out;
}

std::vector<float> relu(std::vector<float> x) {
  for (float& v : x)
    v = std::max(v, 0.0F);
  return x;
}

Tensor vector_of(const std::vector<float>& x) {
  return Tensor::of<float>({static_cast<int64_t>(x.size())}, x);
}

Observer make(const Calibrator& calibrator,
              const Scheme& scheme = {},
              std::optional<int64_t> axis = std::nullopt) {
  return Observer::create(calibrator, scheme, axis).value();
}

Range observe_all(const Calibrator& calibrator,
                  const std::vector<float>& x,
                  const Scheme& scheme = {}) {
  Observer o = make(calibrator, scheme);
  // Batches of uneven length, as a stream would bring them.
  for (size_t begin = 0, n = 1; begin < x.size(); begin += n, n = n * 3 % 997 + 1) {
    const size_t end = std::min(x.size(), begin + n);
    EXPECT_TRUE(o.observe(
        vector_of({x.begin() + static_cast<long>(begin), x.begin() + static_cast<long>(end)})));
  }
  return o.ranges().value().at(0);
}

const Scheme kAsymmetric{DType::kUint8, false, false};

const std::vector<Calibrator> kAll = {MinMax{}, MovingAverage{0.05}, Percentile{99.0}, Entropy{},
                                      Mse{}};

TEST(Histogram, IsTheHistogramOfAllValuesWhateverTheirOrder) {
  std::vector<float> x = normal(20000, 0.3, 1, 1);
  x.push_back(1000.0F);
  x.push_back(0.0F);
  x.push_back(-1e-30F);
  Histogram forward;
  Histogram backward;
  for (size_t i = 0; i < x.size(); ++i) {
    forward.add({&x[i], 1});
    backward.add({&x[x.size() - 1 - i], 1});
  }
  const double width = forward.width();
  EXPECT_EQ(width, 0.5); // 1000 < 2048 * 0.5, and not < 2048 * 0.25
  EXPECT_EQ(backward.width(), width);
  std::vector<uint64_t> positive(Histogram::kBins, 0);
  std::vector<uint64_t> negative(Histogram::kBins, 0);
  for (const float v : x) {
    if (v > 0) ++positive[static_cast<size_t>(std::floor(v / width))];
    if (v < 0) ++negative[static_cast<size_t>(std::floor(-v / width))];
  }
  EXPECT_TRUE(std::ranges::equal(forward.positive(), positive));
  EXPECT_TRUE(std::ranges::equal(forward.negative(), negative));
  EXPECT_TRUE(std::ranges::equal(backward.positive(), positive));
  EXPECT_TRUE(std::ranges::equal(backward.negative(), negative));
  EXPECT_EQ(forward.zeros(), 1);
}

TEST(Histogram, CountsMoreThanASmallCounterHolds) {
  std::vector<float> x(700'001, 0.75F);
  for (size_t i = 0; i < x.size(); i += 5)
    x[i] = i % 2 == 0 ? 0.0F : -0.5F;
  std::vector<float> pieces = x;
  Histogram whole, apart;
  whole.add(x);
  for (size_t i = 0; i < x.size(); i += 10'000)
    apart.add(std::span(pieces).subspan(i, std::min<size_t>(10'000, x.size() - i)));
  const double width = whole.width();
  EXPECT_EQ(whole.positive()[static_cast<size_t>(0.75 / width)], 560'000U);
  EXPECT_EQ(whole.negative()[static_cast<size_t>(0.5 / width)], 70'000U);
  EXPECT_EQ(whole.zeros(), 70'001);
  EXPECT_TRUE(std::ranges::equal(whole.positive(), apart.positive()));
  EXPECT_TRUE(std::ranges::equal(whole.negative(), apart.negative()));
  EXPECT_EQ(whole.zeros(), apart.zeros());
}

/// What the scalar loops say in every form that this machine runs.
TEST(ObserverLoops, AreTheScalarOnes) {
  if (!isa_supported(Isa::kAvx2)) GTEST_SKIP() << "this machine has no AVX2";
  for (const int64_t count : {1, 7, 8, 9, 31, 32, 33, 63, 65, 1000})
    for (const float scale : {1.0F, 1e-44F, 1e-38F, 1e30F, 1e38F}) {
      std::vector<float> x =
          normal(static_cast<size_t>(count), 0, 0.7, static_cast<uint32_t>(count));
      double largest = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = i % 5 == 3 ? (i % 2 == 0 ? 0.0F : -0.0F) : x[i] * scale;
        largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
      }
      int exponent = 0;
      std::frexp(largest, &exponent);
      for (const int wider : {0, 1, 30}) {
        std::vector<uint16_t> want(x.size(), 77), got(x.size(), 77);
        kObserverScalar.places(x.data(), count, exponent - kBinsLog2 + wider, want.data());
        kObserverAvx2.places(x.data(), count, exponent - kBinsLog2 + wider, got.data());
        EXPECT_EQ(got, want) << count << ' ' << scale << ' ' << wider;
      }
      Extremes want, got;
      ASSERT_TRUE(kObserverScalar.extremes(x.data(), count, want));
      ASSERT_TRUE(kObserverAvx2.extremes(x.data(), count, got));
      EXPECT_EQ(got.lo, want.lo) << count;
      EXPECT_EQ(got.hi, want.hi) << count;
      for (const float odd : {std::nanf(""), -std::nanf(""), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()})
        for (size_t at = 0; at < x.size(); at += 1 + x.size() / 40) {
          const float was = std::exchange(x[at], odd);
          EXPECT_FALSE(kObserverScalar.extremes(x.data(), count, want));
          EXPECT_FALSE(kObserverAvx2.extremes(x.data(), count, got)) << at << " of " << count;
          x[at] = was;
        }
    }
}

TEST(Observer, MinMaxIsExact) {
  const std::vector<float> x = normal(5000, 1, 3, 2);
  const Range r = observe_all(MinMax{}, x);
  EXPECT_EQ(r.lo, *std::ranges::min_element(x));
  EXPECT_EQ(r.hi, *std::ranges::max_element(x));
}

TEST(Observer, MovingAverageFollowsTheRecurrence) {
  Observer o = make(MovingAverage{0.01});
  double lo = 0;
  double hi = 0;
  for (uint32_t batch = 0; batch < 3000; ++batch) {
    const std::vector<float> x = normal(7, 0.001 * batch, 1, batch);
    const double l = *std::ranges::min_element(x);
    const double h = *std::ranges::max_element(x);
    lo = batch == 0 ? l : 0.99 * lo + 0.01 * l;
    hi = batch == 0 ? h : 0.99 * hi + 0.01 * h;
    ASSERT_TRUE(o.observe(vector_of(x)));
  }
  const Range r = o.ranges().value().at(0);
  EXPECT_NEAR(r.lo, lo, 1e-7 * std::fabs(lo));
  EXPECT_NEAR(r.hi, hi, 1e-7 * std::fabs(hi));
}

TEST(Observer, PercentileIsWithinOneBinOfTheSortedValues) {
  for (const double p : {60.0, 95.0, 99.9, 100.0}) {
    const std::vector<float> x = normal(30001, 0.5, 2, 3);
    std::vector<float> sorted = x;
    std::ranges::sort(sorted);
    std::vector<float> magnitudes = x;
    for (float& v : magnitudes)
      v = std::fabs(v);
    std::ranges::sort(magnitudes);
    const auto rank = static_cast<size_t>(std::ceil(p / 100 * static_cast<double>(x.size()))) - 1;
    const double bin = 16.0 / Histogram::kBins; // |x| < 16
    const Range s = observe_all(Percentile{p}, x);
    const double amax = std::max(std::fabs(s.lo), std::fabs(s.hi));
    EXPECT_GE(amax, magnitudes[rank]);
    EXPECT_LE(amax, magnitudes[rank] + bin);
    const Range a = observe_all(Percentile{p}, x, kAsymmetric);
    EXPECT_GE(a.hi, sorted[rank]);
    EXPECT_LE(a.hi, sorted[rank] + bin);
    EXPECT_LE(a.lo, sorted[sorted.size() - 1 - rank]);
    EXPECT_GE(a.lo, sorted[sorted.size() - 1 - rank] - bin);
  }
}

/// The published calibrator written with plain arrays over all values.
double entropy_by_the_book(const std::vector<float>& x, double width) {
  double amax = 0;
  for (const float v : x)
    amax = std::max(amax, std::fabs(static_cast<double>(v)));
  std::vector<double> bins(static_cast<size_t>(amax / width) + 1, 0);
  for (const float v : x)
    bins[static_cast<size_t>(std::fabs(v) / width)] += 1;
  bins[0] = bins[1];
  double best = std::numeric_limits<double>::infinity();
  size_t best_i = 0;
  for (size_t i = 128; i <= bins.size(); ++i) {
    std::vector<double> p(bins.begin(), bins.begin() + static_cast<long>(i));
    std::vector<double> level_sum(128, 0);
    std::vector<double> level_used(128, 0);
    std::vector<double> q(i, 0);
    for (size_t j = 0; j < i; ++j) {
      if (bins[j] == 0) continue;
      level_sum[j * 128 / i] += bins[j];
      level_used[j * 128 / i] += 1;
    }
    double q_sum = 0;
    for (size_t j = 0; j < i; ++j) {
      if (bins[j] > 0) q[j] = level_sum[j * 128 / i] / level_used[j * 128 / i];
      q_sum += q[j];
    }
    for (size_t j = i; j < bins.size(); ++j)
      p[i - 1] += bins[j];
    double p_sum = 0;
    for (const double v : p)
      p_sum += v;
    double kl = 0;
    for (size_t j = 0; j < i; ++j)
      if (p[j] > 0) kl += p[j] / p_sum * std::log((p[j] / p_sum) / (q[j] / q_sum));
    if (kl <= best) {
      best = kl;
      best_i = i;
    }
  }
  return std::min(static_cast<double>(best_i) * width, amax);
}

TEST(Observer, EntropyFindsThePublishedThreshold) {
  std::vector<float> heavy = normal(40000, 0, 1, 4);
  for (size_t i = 0; i < heavy.size(); i += 400)
    heavy[i] *= 6;
  for (const std::vector<float>& x : {heavy, relu(heavy), normal(3000, 0, 0.01, 5)}) {
    Histogram h;
    h.add(x);
    const Range r = observe_all(Entropy{}, x);
    const double got = std::max(std::fabs(r.lo), std::fabs(r.hi));
    EXPECT_NEAR(got, entropy_by_the_book(x, h.width()), 1e-12);
    EXPECT_GT(got, 0);
  }
  // Many values with an exponential tail: there clipping pays.
  std::mt19937 generator(9);
  std::exponential_distribution<float> draw(1);
  std::vector<float> tailed(400000);
  for (float& x : tailed)
    x = draw(generator);
  EXPECT_LT(observe_all(Entropy{}, tailed).hi, 0.9 * *std::ranges::max_element(tailed));
}

/// A number that repeats, such as a flat background, ends no range: it is one number before it is
/// rounded and one after. What is clipped counts in full.
TEST(Observer, EntropySparesNumbersThatRepeat) {
  const std::vector<float> spread = relu(normal(60000, 0, 1, 11));
  const double plain = observe_all(Entropy{}, spread).hi;
  for (const float repeated : {0.5F, 1.1F, 2.0F}) {
    std::vector<float> x = spread;
    x.insert(x.end(), 60000, repeated);
    Histogram h;
    h.add(x);
    EXPECT_LT(entropy_by_the_book(x, h.width()), 0.75 * plain) << repeated;
    EXPECT_GT(observe_all(Entropy{}, x).hi, 0.9 * plain) << repeated;
  }
  // As many of them in every channel of a Relu's output.
  std::vector<float> channels = spread;
  for (int c = 0; c < 16; ++c)
    channels.insert(channels.end(), 3000, 0.11F * static_cast<float>(c + 1));
  EXPECT_GT(observe_all(Entropy{}, channels).hi, 0.9 * plain);
  // Far out in a tail that would be clipped.
  std::mt19937 generator(9);
  std::exponential_distribution<float> draw(1);
  std::vector<float> tailed(200000);
  for (float& v : tailed)
    v = draw(generator);
  const float far = 0.97F * *std::ranges::max_element(tailed);
  EXPECT_LT(observe_all(Entropy{}, tailed).hi, 0.9 * far);
  tailed.insert(tailed.end(), 20000, far);
  EXPECT_GE(observe_all(Entropy{}, tailed).hi, far);
}

double mean_squared_error(const std::vector<float>& x, const Scheme& scheme, const Range& range) {
  const QuantParameters parameters = parameters_for(scheme, range);
  double sum = 0;
  for (const float v : x) {
    const double d = v - round_trip(scheme, parameters, v);
    sum += d * d;
  }
  return sum / static_cast<double>(x.size());
}

TEST(Observer, MseIsAsGoodAsTheBestRangeOverAllValues) {
  std::vector<float> x = normal(20000, 0, 1, 6);
  for (size_t i = 0; i < x.size(); i += 1000)
    x[i] *= 4;
  const double amax =
      std::fabs(*std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }));
  for (const DType type : {DType::kInt8, DType::kUint8, DType::kFloat8E4M3FN, DType::kFloat8E5M2}) {
    const Scheme scheme{type, true, false};
    const double got = mean_squared_error(x, scheme, observe_all(Mse{}, x, scheme));
    double best = std::numeric_limits<double>::infinity();
    for (int i = 1; i <= 1000; ++i)
      best = std::min(best, mean_squared_error(x, scheme, {-amax * i / 1000, amax * i / 1000}));
    EXPECT_LE(got, best * 1.01) << name(type);
  }
  const std::vector<float> positive = relu(x);
  const double hi = *std::ranges::max_element(positive);
  const double got =
      mean_squared_error(positive, kAsymmetric, observe_all(Mse{}, positive, kAsymmetric));
  double best = std::numeric_limits<double>::infinity();
  for (int i = 1; i <= 1000; ++i)
    best = std::min(best, mean_squared_error(positive, kAsymmetric, {0, hi * i / 1000}));
  EXPECT_LE(got, best * 1.01);
}

TEST(Observer, WhatMseClipsMayCountMore) {
  std::vector<float> x = normal(20000, 0, 1, 6);
  for (size_t i = 0; i < x.size(); i += 100)
    x[i] *= 3;
  const double amax =
      std::fabs(*std::ranges::max_element(x, {}, [](float v) { return std::fabs(v); }));
  Scheme four{DType::kInt8, true, false};
  four.bits = 4;
  for (const Scheme& scheme : {four, Scheme{DType::kFloat8E4M3FN, true, false}}) {
    // The end of the range, beyond which half a step more is rounded to it.
    const auto weighed = [&](const Range& range, double times) {
      const QuantParameters parameters = parameters_for(scheme, range);
      double sum = 0;
      for (const float v : x) {
        const double d = v - round_trip(scheme, parameters, v);
        const double end = round_trip(scheme, parameters, v > 0 ? 1e9F : -1e9F);
        const bool clipped =
            std::fabs(v) >
            std::fabs(end) + (scheme.bits == 4 ? 0.5 : 0) * static_cast<double>(parameters.scale);
        sum += d * d * (clipped ? times : 1);
      }
      return sum;
    };
    double last = 0;
    for (const double times : {1.0, 3.0, 30.0}) {
      const Range found = observe_all(Mse{times}, x, scheme);
      EXPECT_GE(found.hi, last); // the more it costs the less is clipped
      last = found.hi;
      double best = std::numeric_limits<double>::infinity();
      for (int i = 1; i <= 100; ++i)
        best = std::min(best, weighed({-amax * i / 100, amax * i / 100}, times));
      EXPECT_LE(weighed(found, times), best * 1.02) << times;
    }
    // Floating-point numbers lose little by a range that holds all.
    if (scheme.bits == 4) {
      EXPECT_GT(last, observe_all(Mse{}, x, scheme).hi);
    }
  }
  EXPECT_EQ(name(Mse{3}), "mse:3");
  EXPECT_EQ(parse_calibrator("mse:3").value(), Calibrator(Mse{3}));
}

/// Numbers far from 0 that are nearly one: where all of them are clipped, the range is one number.
TEST(Observer, RangesOfOneNumberAreRanges) {
  for (const Calibrator& calibrator : kAll)
    for (const Scheme& scheme :
         {Scheme{}, Scheme{.type = DType::kInt8, .narrow = true}, kAsymmetric})
      for (int k = 0; k < 200; ++k) {
        const float x = (k % 2 == 0 ? 1.0F : -1.0F) * (0.2F + 0.00173F * static_cast<float>(k));
        const Range r = observe_all(calibrator, std::vector<float>(24, x), scheme);
        ASSERT_LE(r.lo, r.hi) << name(calibrator) << " of " << x;
        ASSERT_NEAR(r.lo, x, 0.02 * std::fabs(x)) << name(calibrator);
        ASSERT_NEAR(r.hi, x, 0.02 * std::fabs(x)) << name(calibrator);
      }
}

TEST(Observer, MergingIsObservingBothBitForBit) {
  for (const Calibrator& calibrator : kAll) {
    for (const Scheme& scheme : {Scheme{}, kAsymmetric}) {
      Observer a = make(calibrator, scheme);
      Observer b = make(calibrator, scheme);
      Observer both = make(calibrator, scheme);
      for (uint32_t batch = 0; batch < 40; ++batch) {
        // The second half is wider by far, so that widths have to double while merging.
        const std::vector<float> x = normal(500, 0.1, batch < 15 ? 0.01 : 3.7, batch);
        ASSERT_TRUE((batch < 15 ? a : b).observe(vector_of(x)));
        ASSERT_TRUE(both.observe(vector_of(x)));
      }
      ASSERT_TRUE(a.merge(b));
      EXPECT_EQ(a.ranges().value(), both.ranges().value()) << name(calibrator);
      EXPECT_EQ(a.observed(), both.observed());
      EXPECT_EQ(a.observed(), 20000);
    }
  }
}

TEST(Observer, MergeTakesAnEmptyOneAndRefusesAnotherKind) {
  Observer a = make(Entropy{});
  ASSERT_TRUE(a.observe(vector_of({1, 2, 3})));
  ASSERT_TRUE(a.merge(make(Entropy{})));
  Observer empty = make(Entropy{});
  ASSERT_TRUE(empty.merge(a));
  EXPECT_EQ(empty.ranges().value(), a.ranges().value());
  EXPECT_FALSE(a.merge(make(Mse{})).ok());
  EXPECT_FALSE(a.merge(make(Entropy{}, {}, 0)).ok());
}

TEST(Observer, MemoryDoesNotGrowWithTheStream) {
  for (const Calibrator& calibrator : kAll) {
    Observer o = make(calibrator);
    for (uint32_t batch = 0; batch < 3000; ++batch)
      ASSERT_TRUE(o.observe(vector_of(normal(16, 0, 1 + batch, batch))));
    EXPECT_LE(o.state_bytes(), Observer::kMaxBytesPerChannel) << name(calibrator);
  }
  Observer longest = make(MovingAverage{0.005});
  for (int batch = 0; batch < 10000; ++batch)
    ASSERT_TRUE(longest.observe(vector_of({1})));
  EXPECT_LE(longest.state_bytes(), Observer::kMaxBytesPerChannel);
}

TEST(Observer, ChannelsAreObservedApart) {
  const std::vector<float> x = {1, -2, 3, 4, 50, 6, 7, -80, 9, 10, 11, 12}; // [2, 3, 2]
  for (const int64_t axis : {1, -2}) {
    Observer o = make(MinMax{}, {}, axis);
    ASSERT_TRUE(o.observe(Tensor::of<float>({2, 3, 2}, x)));
    const std::vector<Range> expected = {{-80, 7}, {3, 10}, {6, 50}};
    EXPECT_EQ(o.ranges().value(), expected);
    EXPECT_FALSE(o.observe(Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4})).ok());
  }
}

TEST(Observer, MaskedElementsDoNotCount) {
  Observer o = make(MinMax{});
  const Tensor x = Tensor::of<float>({2, 2, 2}, {1, 2, -10000, -10000, 3, 4, 5, -INFINITY});
  const Tensor mask = Tensor::of<int64_t>({2, 2}, {1, 0, 1, 1});
  ASSERT_TRUE(o.observe(x, &mask));
  EXPECT_EQ(o.ranges().value().at(0), (Range{1, 5}));
  EXPECT_EQ(o.masked(), 2);
  EXPECT_EQ(o.infinities(), 1);
  EXPECT_EQ(o.observed(), 5);
  const Tensor wrong = Tensor::of<int64_t>({2, 3}, {1, 1, 1, 1, 1, 1});
  EXPECT_FALSE(o.observe(x, &wrong).ok());
}

// Runs are cut where the mask changes, where a channel ends and where a chunk is full.
TEST(Observer, RunsOfAnyLengthAreTheirElements) {
  std::mt19937 random(20);
  for (const int64_t inner : {1, 7, 1023, 1024, 1025, 5000})
    for (const bool infinite : {false, true}) {
      constexpr int64_t kRows = 5;
      constexpr int64_t kChannels = 2;
      std::vector<float> x = normal(static_cast<size_t>(kRows * kChannels * inner), 0.3, 2, 21);
      std::vector<int64_t> counts(kRows);
      for (int64_t& one : counts)
        one = static_cast<int64_t>(random() % 2);
      counts[1] = 1;
      for (size_t i = 0; infinite && i < x.size(); i += 1 + random() % 700)
        x[i] = i % 2 == 0 ? std::numeric_limits<float>::infinity() : -x[i] * 0;
      const Tensor mask = Tensor::of<int64_t>({kRows}, counts);
      for (const Calibrator& calibrator : {Calibrator{MinMax{}}, Calibrator{Percentile{99.0}},
                                           Calibrator{Entropy{}}, Calibrator{Mse{}}}) {
        Observer whole = make(calibrator, kAsymmetric, 1);
        ASSERT_TRUE(whole.observe(Tensor::of<float>({kRows, kChannels, inner}, x), &mask));
        for (int64_t c = 0; c < kChannels; ++c) {
          Observer single = make(calibrator, kAsymmetric);
          for (int64_t r = 0; r < kRows; ++r)
            for (int64_t i = 0; i < inner && counts[static_cast<size_t>(r)] != 0; ++i)
              ASSERT_TRUE(single.observe(
                  vector_of({x[static_cast<size_t>((r * kChannels + c) * inner + i)]})));
          const Range want = single.ranges().value().at(0);
          const Range got = whole.ranges().value().at(static_cast<size_t>(c));
          EXPECT_EQ(got.lo, want.lo) << name(calibrator) << ' ' << inner;
          EXPECT_EQ(got.hi, want.hi) << name(calibrator) << ' ' << inner;
        }
      }
    }
}

TEST(Observer, NanIsAnErrorThatChangesNothing) {
  for (const Calibrator& calibrator : kAll) {
    Observer o = make(calibrator);
    ASSERT_TRUE(o.observe(vector_of({1, 2})));
    const std::vector<Range> before = o.ranges().value();
    const Status bad = o.observe(vector_of({5, NAN}));
    ASSERT_FALSE(bad.ok());
    EXPECT_NE(bad.error().text().find("element 1"), std::string::npos);
    EXPECT_EQ(o.ranges().value(), before);
    EXPECT_EQ(o.observed(), 2);
  }
  Observer masked = make(MinMax{});
  const Tensor mask = Tensor::of<bool>({2}, {true, false});
  EXPECT_TRUE(masked.observe(vector_of({1, NAN}), &mask));
}

// [2, 3, 4], and the same stored as [4, 2, 3].
TEST(Observer, ElementsMayLieInAnyOrder) {
  const std::vector<float> x = normal(24, 0.2, 1, 30);
  const std::vector<int64_t> axes = {2, 0, 1};
  const auto stored = [&](const std::vector<float>& from) {
    std::vector<float> to(24);
    for (size_t a = 0; a < 2; ++a)
      for (size_t b = 0; b < 3; ++b)
        for (size_t c = 0; c < 4; ++c)
          to[(c * 2 + a) * 3 + b] = from[(a * 3 + b) * 4 + c];
    return Tensor::of<float>({4, 2, 3}, std::span<const float>(to));
  };
  for (const Calibrator& calibrator : kAll) {
    Observer plain = make(calibrator, kAsymmetric);
    Observer other = make(calibrator, kAsymmetric);
    ASSERT_TRUE(plain.observe(Tensor::of<float>({2, 3, 4}, std::span<const float>(x))));
    ASSERT_TRUE(other.observe_stored(stored(x), axes));
    EXPECT_EQ(other.ranges().value(), plain.ranges().value()) << name(calibrator);
    std::vector<float> bad = x;
    bad[21] = bad[11] = NAN; // the first of them lies behind the other one
    const std::string want =
        plain.observe(Tensor::of<float>({2, 3, 4}, std::span<const float>(bad))).error().text();
    EXPECT_EQ(other.observe_stored(stored(bad), axes).error().text(), want);
    bad = x;
    bad[5] = INFINITY;
    ASSERT_TRUE(other.observe_stored(stored(bad), axes));
    EXPECT_EQ(other.infinities(), 1);
  }
  EXPECT_FALSE(make(MinMax{}, {}, 1).observe_stored(stored(x), axes).ok());
}

TEST(Observer, ZerosHaveNoSign) {
  for (const std::vector<float>& x : {std::vector<float>{-0.0F, -1.0F}, {-0.0F, 1.0F}}) {
    Observer o = make(MinMax{});
    ASSERT_TRUE(o.observe(vector_of(x)));
    const Range r = o.ranges().value().at(0);
    EXPECT_FALSE(std::signbit(r.lo) && r.lo == 0);
    EXPECT_FALSE(std::signbit(r.hi) && r.hi == 0);
  }
}

TEST(Observer, NothingObservedIsAnError) {
  Observer o = make(Entropy{});
  EXPECT_FALSE(o.ranges().ok());
  ASSERT_TRUE(o.observe(vector_of({INFINITY})));
  EXPECT_FALSE(o.ranges().ok());
  ASSERT_TRUE(o.observe(vector_of({0, 0})));
  EXPECT_EQ(o.ranges().value().at(0), (Range{0, 0}));
}

TEST(Calibrator, NamesParseBack) {
  for (const Calibrator& calibrator : kAll)
    EXPECT_EQ(parse_calibrator(name(calibrator)).value(), calibrator);
  EXPECT_EQ(parse_calibrator("percentile").value(), Calibrator(Percentile{}));
  for (const char* bad : {"", "kl", "percentile:x", "percentile:30", "moving-average:0", "mse:0",
                          "mse:x", "entropy:1"})
    EXPECT_FALSE(parse_calibrator(bad).ok()) << bad;
}

} // namespace
} // namespace octet
