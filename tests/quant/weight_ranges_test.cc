// SPDX-License-Identifier: Apache-2.0
// Ranges of weights of few bits against steps found by bisection and errors summed here.
#include <cmath>
#include <map>
#include <random>

#include "quant/scheme.h"
#include "quant/weight_ranges.h"
#include <gtest/gtest.h>

#include "octet/observer.h"

namespace octet {
namespace {

constexpr int64_t kOutputs = 12;

std::vector<float> drawn(int64_t count, int power, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> draw;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& v : out)
    v = std::pow(draw(generator), static_cast<float>(power));
  return out;
}

struct Grid {
  double lowest, highest; ///< codes less their zero point
};

double nearest(const Grid& grid, double step, double x) {
  return std::clamp(std::nearbyint(x / step), grid.lowest, grid.highest) * step;
}

/// Of clipped numbers three times.
double squared_error(const Grid& grid, double step, const std::vector<double>& numbers) {
  double out = 0;
  for (const double x : numbers) {
    const bool clipped = x / step < grid.lowest - 0.499 || x / step > grid.highest + 0.499;
    out += std::pow(x - nearest(grid, step, x), 2) * (clipped ? 3 : 1);
  }
  return out;
}

/// The smallest step from which on no number errs by more than half of it.
double smallest_fair_step(const Grid& grid, const std::vector<double>& numbers) {
  double none = 0, all = 1;
  for (const double x : numbers)
    all = std::max(all, 2 * std::fabs(x));
  for (int i = 0; i < 100; ++i) {
    const double step = (none + all) / 2;
    bool fair = true;
    for (const double x : numbers)
      fair &= std::fabs(x - nearest(grid, step, x)) <= step * 0.5 * (1 + 1e-12);
    (fair ? all : none) = step;
  }
  return all;
}

/// From so many numbers on a step that is so much smaller is expected to gain, where the errors of
/// all but the largest are uniform: by bits, worked out by hand.
const std::map<int, size_t> kEnough = {{2, 9}, {3, 26}, {4, 62}, {6, 278}, {7, 566}};

TEST(WeightRanges, OfFewBitsTakeTheNearerOfTwoSteps) {
  int fair = 0, covering = 0;
  for (const int bits : {2, 3, 4, 6, 7})
    for (const DType type : {DType::kInt8, DType::kUint8})
      for (const int64_t terms : {3, 8, 9, 25, 26, 61, 62, 600})
        for (const int64_t block : {0, 16})
          for (const int power : {1, 3}) {
            SCOPED_TRACE(fmt::format("{} bits, {} terms, blocks of {}", bits, terms, block));
            TensorPlan plan;
            plan.scheme = {.type = type, .symmetric = true, .bits = bits};
            plan.axis = block > 0 ? 0 : 1;
            plan.block = block;
            const std::vector<float> w = drawn(terms * kOutputs, power, 7);
            const auto weight = Tensor::of<float>({terms, kOutputs}, std::span<const float>(w));
            const auto ranges = weight_ranges(weight, plan, MinMax{});
            ASSERT_TRUE(ranges.ok()) << ranges.error().text();
            const int64_t size = block > 0 ? block : terms;
            const int64_t blocks = (terms + size - 1) / size;
            ASSERT_EQ(static_cast<int64_t>(ranges->size()), blocks * kOutputs);
            const double half = std::ldexp(1.0, bits - 1);
            const Grid grid{-half, half - 1};
            for (int64_t b = 0; b < blocks; ++b)
              for (int64_t n = 0; n < kOutputs; ++n) {
                std::vector<double> numbers;
                for (int64_t k = b * size; k < std::min(terms, (b + 1) * size); ++k)
                  numbers.push_back(static_cast<double>(w[static_cast<size_t>(k * kOutputs + n)]));
                const QuantParameters p =
                    parameters_for(plan.scheme, (*ranges)[static_cast<size_t>(b * kOutputs + n)]);
                const auto step = static_cast<double>(p.scale);
                double all = 0;
                for (const double x : numbers)
                  all = std::max(all, x > 0 ? x / grid.highest : x / grid.lowest);
                const double least = smallest_fair_step(grid, numbers);
                const double ours = squared_error(grid, step, numbers);
                EXPECT_LE(ours, 1.0001 * squared_error(grid, all, numbers));
                const bool enough = numbers.size() >= kEnough.at(bits);
                if (enough) {
                  EXPECT_LE(ours, 1.0001 * squared_error(grid, least * (1 + 1e-9), numbers));
                }
                const bool covers = std::fabs(step / all - 1) < 1e-6;
                EXPECT_TRUE(covers || (enough && std::fabs(step / least - 1) < 1e-6))
                    << step << ", not " << all << " or " << least;
                (covers ? covering : fair) += 1;
              }
          }
  EXPECT_GT(fair, 200);
  EXPECT_GT(covering, 200);
}

TEST(WeightRanges, NumbersOnAGridStay) {
  for (const int bits : {2, 3, 4, 5}) {
    std::mt19937 generator(static_cast<uint32_t>(bits));
    const int most = (1 << (bits - 1)) - 1;
    for (const int least : {-most - 1, -most, 0}) {
      std::uniform_int_distribution<int> draw(least, most);
      std::vector<float> w;
      w.reserve(600);
      const float step = 0.37F;
      for (int i = 0; i < 600; ++i)
        w.push_back(static_cast<float>(draw(generator)) * step);
      TensorPlan plan;
      plan.scheme = {.type = DType::kInt8, .symmetric = true, .bits = bits};
      const auto ranges =
          weight_ranges(Tensor::of<float>({600}, std::span<const float>(w)), plan, MinMax{})
              .value();
      EXPECT_FLOAT_EQ(parameters_for(plan.scheme, ranges.at(0)).scale, step)
          << bits << " " << least;
    }
  }
}

TEST(WeightRanges, OthersAreWhatObserversSay) {
  const std::vector<float> w = drawn(64 * kOutputs, 3, 3);
  const auto weight = Tensor::of<float>({64, kOutputs}, std::span<const float>(w));
  const Scheme int8{.type = DType::kInt8, .narrow = true}, fp8{.type = DType::kFloat8E4M3FN},
      uneven{.type = DType::kUint8, .symmetric = false, .bits = 4},
      four{.type = DType::kInt4, .bits = 4};
  for (const auto& [scheme, calibrator] : {std::pair<Scheme, Calibrator>(int8, MinMax{}),
                                           {fp8, MinMax{}},
                                           {uneven, MinMax{}},
                                           {four, Mse{}},
                                           {four, Percentile{}}}) {
    TensorPlan plan;
    plan.scheme = scheme;
    plan.axis = 1;
    Observer observer = Observer::create(calibrator, scheme, 1).value();
    ASSERT_TRUE(observer.observe(weight).ok());
    EXPECT_EQ(weight_ranges(weight, plan, calibrator).value(), observer.ranges().value())
        << scheme_text(scheme) << " " << name(calibrator);
  }
}

TEST(WeightRanges, ZerosAndInfinitiesAreAsBefore) {
  TensorPlan plan;
  plan.scheme = {.type = DType::kInt4, .bits = 4};
  const std::vector<float> zeros(32, 0.0F);
  const auto none = Tensor::of<float>({32}, std::span<const float>(zeros));
  EXPECT_EQ(weight_ranges(none, plan, MinMax{}).value().at(0), (Range{0, 0}));
  plan.axis = 0;
  plan.block = 16;
  const std::vector<float> huge(32, INFINITY);
  const auto all = Tensor::of<float>({32, 1}, std::span<const float>(huge));
  EXPECT_FALSE(weight_ranges(all, plan, MinMax{}).ok());
}

} // namespace
} // namespace octet
