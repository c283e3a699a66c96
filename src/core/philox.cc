// SPDX-License-Identifier: Apache-2.0
#include "core/philox.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace octet {
namespace {

using Coefficients = std::array<double, 8>;

double polynomial(const Coefficients& c, double x) {
  double y = c[7];
  for (size_t i = 7; i-- > 0;)
    y = y * x + c[i];
  return y;
}

/// Natural logarithm by the series of atanh, without the C library, whose last bits vary.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent); // exact
  constexpr double kSqrtHalf = 0.70710678118654752440;
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1);
  const double square = t * t;
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2)
    sum = sum * square + 1.0 / k;
  constexpr double kLn2 = 0.69314718055994530942;
  return 2 * t * sum + exponent * kLn2;
}

} // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t a = uint64_t{kPhiloxFactors[0]} * counter[0];
    const uint64_t b = uint64_t{kPhiloxFactors[1]} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += kPhiloxWeyl[0];
    key[1] += kPhiloxWeyl[1];
  }
  return counter;
}

uint32_t Philox::next_u32() {
  const uint64_t block = position_ / 4;
  if (block != cached_block_) {
    block_ = philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                         static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    cached_block_ = block;
  }
  return block_[position_++ % 4];
}

uint64_t Philox::next_u64() {
  const uint64_t low = next_u32();
  return low | static_cast<uint64_t>(next_u32()) << 32;
}

double Philox::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

int64_t Philox::below(int64_t n) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(next_u64()) * static_cast<uint64_t>(n);
  return static_cast<int64_t>(product >> 64);
}

double Philox::normal() {
  return normal_quantile((static_cast<double>(next_u64() >> 12) + 0.5) * 0x1p-52);
}

double normal_quantile(double p) {
  constexpr Coefficients kA = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                               1.9715909503065514427e+3, 1.3731693765509461125e+4,
                               4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr Coefficients kB = {1.0,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3};
  constexpr Coefficients kC = {1.42343711074968357734e0,  4.63033784615654529590e0,
                               5.76949722146069140550e0,  3.64784832476320460504e0,
                               1.27045825245236838258e0,  2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr Coefficients kD = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
  constexpr Coefficients kE = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr Coefficients kF = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double value = r <= 5 ? polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6)
                              : polynomial(kE, r - 5) / polynomial(kF, r - 5);
  return q < 0 ? -value : value;
}

std::vector<int64_t> permutation(int64_t n, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(n < 0 ? 0 : n));
  std::iota(order.begin(), order.end(), 0);
  Philox random(seed, epoch);
  for (int64_t i = n - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(random.below(i + 1))]);
  return order;
}

} // namespace octet
