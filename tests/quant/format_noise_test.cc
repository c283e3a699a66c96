// SPDX-License-Identifier: Apache-2.0
// Noise of formats: figures known from elsewhere, and the same integrals taken another way: sums
// over equally spaced numbers, each rounded by the codec or as an integer.
#include <cmath>
#include <functional>

#include "core/codec.h"
#include <gtest/gtest.h>

#include "octet/format_noise.h"

namespace octet {
namespace {

TEST(FormatNoise, IsWhatIsKnownOfFiveFormats) {
  const std::vector<std::string> formats = {"int8", "E2M5", "E3M4", "E4M3", "E5M2"};
  const std::vector<std::pair<std::string, std::vector<double>>> known = {
      {"uniform", {48.1, 44.5, 38.5, 32.4, 26.3}},
      {"gaussian:10", {40.5, 42.7, 37.6, 31.6, 25.6}},
      {"student-t:8:100", {34.4, 38.4, 37.5, 31.5, 25.6}}};
  for (const auto& [distribution, figures] : known) {
    for (size_t k = 0; k < formats.size(); ++k) {
      const auto noise = best_format_noise(formats[k], parse_distribution(distribution).value());
      ASSERT_TRUE(noise.ok()) << noise.error().text();
      EXPECT_NEAR(noise->sqnr_db, figures[k], 0.0501) << formats[k] << ", " << distribution;
    }
  }
  EXPECT_NEAR(best_format_noise("E4M3FN", Uniform{})->sqnr_db, 32.1, 0.0501);
}

/// Sums over the middles of equal pieces of [0, reach].
double sqnr_by_sums(const std::function<double(double)>& density,
                    double reach,
                    const std::function<double(double)>& round_trip) {
  constexpr int kPieces = 1 << 17;
  double power = 0, noise = 0;
  for (int i = 0; i < kPieces; ++i) {
    const double x = (i + 0.5) * reach / kPieces;
    const double d = x - round_trip(x);
    power += x * x * density(x);
    noise += d * d * density(x);
  }
  return 10 * std::log10(power / noise);
}

struct Drawn {
  std::string distribution;
  std::function<double(double)> density;
  double reach;
};

std::vector<Drawn> drawn() {
  return {{"uniform", [](double) { return 1.0; }, 1},
          {"gaussian:6", [](double x) { return std::exp(-x * x / 2); }, 6},
          {"student-t:3:50", [](double x) { return std::pow(1 + x * x / 3, -2); }, 50}};
}

TEST(FormatNoise, OfSmallFloatsIsWhatTheCodecMakes) {
  for (const Drawn& c : drawn()) {
    for (const FloatFormat* format : float_formats()) {
      if (format->width() > 8) continue;
      const auto best = best_format_noise(format->name, parse_distribution(c.distribution).value());
      ASSERT_TRUE(best.ok()) << best.error().text();
      const double s = best->scale;
      EXPECT_NEAR(
          best->sqnr_db,
          sqnr_by_sums(c.density, c.reach,
                       [&](double x) { return s * decode(*format, encode(*format, x / s)); }),
          5e-3)
          << format->name << ", " << c.distribution;
    }
  }
}

TEST(FormatNoise, OfIntegersIsWhatRoundingMakes) {
  for (const Drawn& c : drawn()) {
    for (const int bits : {2, 4, 8}) {
      const double highest = (1 << (bits - 1)) - 1;
      const auto best = best_format_noise("int" + std::to_string(bits),
                                          parse_distribution(c.distribution).value());
      ASSERT_TRUE(best.ok()) << best.error().text();
      const double s = best->scale;
      EXPECT_NEAR(
          best->sqnr_db,
          sqnr_by_sums(c.density, c.reach,
                       [&](double x) { return s * std::min(highest, std::nearbyint(x / s)); }),
          5e-3)
          << bits << " bits, " << c.distribution;
    }
  }
}

TEST(FormatNoise, NoScaleIsBetterThanTheBest) {
  for (const std::string format : {"int4", "E2M1", "E4M3FNUZ", "E5M2"}) {
    const Distribution t = StudentT{.degrees = 4};
    const FormatNoise best = best_format_noise(format, t).value();
    for (double factor = 0.01; factor < 100; factor *= 1.03)
      EXPECT_LE(format_noise(format, t, best.scale * factor)->sqnr_db, best.sqnr_db + 1e-3)
          << format << ", " << factor << " times the best scale";
  }
}

TEST(FormatNoise, SaysWhatIsWrong) {
  EXPECT_NE(best_format_noise("E4M3F", Uniform{}).error().text().find("E4M3FN"), std::string::npos);
  for (const std::string format : {"", "int9", "int1", "f16", "E6M1", "E5M3", "E0M3", "E4", "ExMy"})
    EXPECT_FALSE(best_format_noise(format, Uniform{}).ok()) << format;
  EXPECT_FALSE(best_format_noise("int8", Gaussian{.reach = 0}).ok());
  EXPECT_FALSE(best_format_noise("int8", StudentT{.degrees = std::nan("")}).ok());
  for (const double scale : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(format_noise("int8", Uniform{}, scale).ok()) << scale;
  for (const std::string text : {"", "normal", "uniform:1", "gaussian:x", "gaussian:1:2",
                                 "student-t:0.5", "student-t:8:", "student-t:8:1:1"})
    EXPECT_FALSE(parse_distribution(text).ok()) << text;
}

TEST(FormatNoise, NamesOfDistributionsAreReadBack) {
  for (const Distribution& d : {Distribution(Uniform{}), Distribution(Gaussian{.reach = 2.5}),
                                Distribution(StudentT{.degrees = 3, .reach = 7})})
    EXPECT_EQ(parse_distribution(name(d)).value(), d);
  EXPECT_EQ(parse_distribution("student-t").value(), Distribution(StudentT{}));
}

} // namespace
} // namespace octet
