// SPDX-License-Identifier: Apache-2.0
// Fourier transforms against the sum that defines them, and on every instruction set against one
// line at a time, bit for bit.
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "core/philox.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/fourier.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;

using FourierSum = std::complex<long double>;

/// y[k] by its definition, in long double.
std::vector<FourierSum>
defined_sum(const std::vector<FourierSum>& x, int64_t length, bool inverse) {
  const long double sign = inverse ? 1 : -1;
  std::vector<FourierSum> y(static_cast<size_t>(length));
  std::vector<FourierSum> roots;
  for (int64_t t = 0; t < length; ++t)
    roots.push_back(
        std::polar(1.0L, sign * 2 * std::numbers::pi_v<long double> * static_cast<long double>(t) /
                             static_cast<long double>(length)));
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t n = 0; n < length; ++n)
      y[static_cast<size_t>(k)] +=
          x[static_cast<size_t>(n)] * roots[static_cast<size_t>(k * n % length)];
    if (inverse) y[static_cast<size_t>(k)] /= static_cast<long double>(length);
  }
  return y;
}

std::vector<int64_t> covered_lengths() {
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= 70; ++n) // every small radix, primes beyond the largest
    out.push_back(n);
  for (const int64_t n : {96, 100, 128, 134, 169, 210, 256, 263, 400, 512, 526, 1000, 1024})
    out.push_back(n);
  return out;
}

struct FourierCase {
  FourierKind kind;
  bool real;
};
constexpr FourierCase kCases[] = {
    {FourierKind::kForward, true},       {FourierKind::kForward, false},
    {FourierKind::kInverse, true},       {FourierKind::kInverse, false},
    {FourierKind::kInverseToReal, true}, {FourierKind::kInverseToReal, false}};

FourierLayout layout_of(const FourierCase& made, int64_t length, int64_t lines) {
  FourierLayout l{.kind = made.kind, .real = made.real, .length = length};
  const bool to_real = made.kind == FourierKind::kInverseToReal;
  l.given = to_real ? length / 2 + 1 : length;
  l.count = length;
  l.x_step = made.real ? 1 : 2;
  l.y_step = to_real ? 1 : 2;
  l.x_line = l.given * l.x_step;
  l.y_line = l.count * l.y_step;
  l.inner = lines;
  return l;
}

std::vector<double> random_numbers(int64_t count, uint64_t seed) {
  Philox random(seed);
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<float>(random.uniform(-1, 1)));
  return out;
}

TEST(Fourier, IsTheSumThatDefinesIt) {
  for (const int64_t length : covered_lengths())
    for (const FourierCase& made : kCases) {
      const FourierLayout layout = layout_of(made, length, 1);
      const auto x = random_numbers(layout.x_line, static_cast<uint64_t>(length));
      std::vector<double> y(static_cast<size_t>(layout.y_line));
      transform_lines(make_fourier(layout), {.layout = layout, .x = x.data(), .y = y.data()});
      std::vector<FourierSum> numbers(static_cast<size_t>(length));
      for (int64_t n = 0; n < layout.given; ++n) {
        const auto at = static_cast<size_t>(n * layout.x_step);
        numbers[static_cast<size_t>(n)] = {x[at], made.real ? 0 : x[at + 1]};
      }
      if (made.kind == FourierKind::kInverseToReal) {
        for (int64_t n = layout.given; n < length; ++n)
          numbers[static_cast<size_t>(n)] = std::conj(numbers[static_cast<size_t>(length - n)]);
        for (const int64_t n : {int64_t{0}, length % 2 == 0 ? length / 2 : 0})
          numbers[static_cast<size_t>(n)] = numbers[static_cast<size_t>(n)].real();
      }
      const bool inverse = made.kind != FourierKind::kForward;
      const auto want = defined_sum(numbers, length, inverse);
      // The sum of magnitudes is at most 2 length, before the division.
      const double bound = 1e-14 * (inverse ? 1.0 : static_cast<double>(length));
      for (int64_t k = 0; k < length; ++k) {
        const auto at = static_cast<size_t>(k * layout.y_step);
        const FourierSum& w = want[static_cast<size_t>(k)];
        ASSERT_NEAR(y[at], static_cast<double>(w.real()), bound) << length << " at " << k;
        if (layout.y_step == 2) {
          ASSERT_NEAR(y[at + 1], static_cast<double>(w.imag()), bound) << length << " at " << k;
        }
      }
    }
}

TEST(Fourier, LanesAndInstructionSetsChangeNoBit) {
  SerialFor serial;
  for (const int64_t length : {1, 2, 3, 7, 12, 16, 67, 100, 134, 400, 512, 5000})
    for (const FourierCase& made : kCases)
      for (const int64_t count : {1, 2, 3, 8, 19})
        for (const bool windowed : {false, true}) {
          FourierLayout layout = layout_of(made, length, count);
          layout.given -= length > 4 && count == 3 ? 2 : 0; // filled with zeros
          layout.count -= length > 4 && count == 8 ? 3 : 0;
          std::vector<double> x = random_numbers(layout.x_line * count, 7);
          x[x.size() / 2] = count == 19 ? std::numeric_limits<double>::infinity() : -0.0;
          const std::vector<double> window = random_numbers(length, 8);
          std::vector<double> want(static_cast<size_t>(layout.y_line * count), 0.25);
          const Fourier plan = make_fourier(layout);
          transform_lines(plan, {.layout = layout,
                                 .x = x.data(),
                                 .y = want.data(),
                                 .window = windowed ? window.data() : nullptr});
          const std::vector<float> fx(x.begin(), x.end()), fw(window.begin(), window.end());
          for (const Isa isa : covered_isas("fourier")) {
            std::vector<float> y(want.size(), 0.25F);
            fourier(plan,
                    {.layout = layout,
                     .x = fx.data(),
                     .y = y.data(),
                     .window = windowed ? fw.data() : nullptr},
                    isa, serial);
            for (size_t i = 0; i < y.size(); ++i) {
              const auto w = static_cast<float>(want[i]);
              if (std::isnan(w)) {
                ASSERT_TRUE(std::isnan(y[i])) << isa_name(isa) << ' ' << length << " at " << i;
                continue;
              }
              ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(w))
                  << isa_name(isa) << ' ' << length << " at " << i << ": " << y[i] << " for " << w;
            }
          }
        }
}

} // namespace
} // namespace octet::kernels
