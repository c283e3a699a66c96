// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace octet {
namespace {

/// exp(-pi i numerator / denominator), 0 <= numerator < 2 denominator. In long double, which no
/// processor's own functions compute: the same bits everywhere.
std::pair<double, double> root(int64_t numerator, int64_t denominator) {
  const int64_t quarter = 2 * numerator / denominator;
  const int64_t rest = 2 * numerator - quarter * denominator;
  const long double angle = std::numbers::pi_v<long double> / 2 * static_cast<long double>(rest) /
                            static_cast<long double>(denominator);
  const auto c = static_cast<double>(std::cos(angle));
  const auto s = static_cast<double>(std::sin(angle));
  switch (quarter) {
  case 0:
    return {c, -s};
  case 1:
    return {-s, -c};
  case 2:
    return {-c, s};
  default:
    return {s, c};
  }
}

std::vector<double> roots_of(int64_t length) {
  std::vector<double> out;
  out.reserve(static_cast<size_t>(2 * length));
  for (int64_t t = 0; t < length; ++t) {
    const auto [re, im] = root(2 * t, length);
    out.push_back(re);
    out.push_back(im);
  }
  return out;
}

/// Fours first; empty where a prime is too large.
std::vector<int64_t> factors_of(int64_t length) {
  std::vector<int64_t> out;
  for (; length % 4 == 0; length /= 4)
    out.push_back(4);
  for (int64_t prime = 2; prime <= kLargestPrime; ++prime)
    for (; length % prime == 0; length /= prime)
      out.push_back(prime);
  return length == 1 ? out : std::vector<int64_t>();
}

namespace one_line {
using Lane = double;
constexpr int64_t kLanes = 1;
#include "ops/shared/fourier_passes-inl.h"
} // namespace one_line

FourierPasses make_passes(int64_t length) {
  FourierPasses p;
  p.length = length;
  p.factors = factors_of(length);
  if (length == 1 || !p.factors.empty()) {
    p.roots = roots_of(length);
    return p;
  }
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * length - 1)));
  p.convolution = std::make_shared<FourierPasses>(make_passes(size));
  p.chirp.reserve(static_cast<size_t>(2 * length));
  std::vector<double> x(static_cast<size_t>(2 * size));
  std::vector<double> y(x.size());
  const double scale = 1.0 / static_cast<double>(size); // a power of two
  int64_t square = 0;                                   // t^2 modulo 2 length
  for (int64_t t = 0; t < length; ++t) {
    const auto [re, im] = root(square, length);
    p.chirp.push_back(re);
    p.chirp.push_back(im);
    for (const int64_t at : {t, (size - t) % size}) {
      x[static_cast<size_t>(2 * at)] = re * scale;
      x[static_cast<size_t>(2 * at + 1)] = -im * scale;
    }
    square = (square + 2 * t + 1) % (2 * length);
  }
  const double* spectrum = one_line::run_passes(*p.convolution, x.data(), y.data());
  p.response.assign(spectrum, spectrum + 2 * size);
  return p;
}

} // namespace

FourierLayout dft_layout(
    const Node& node, const Shape& x, const Shape& y, int64_t axis, std::optional<int64_t> length) {
  const bool inverse = node.attr_int("inverse", 0) != 0;
  const bool to_real = inverse && node.attr_int("onesided", 0) != 0;
  const auto along = static_cast<size_t>(axis);
  FourierLayout l;
  l.kind = to_real   ? FourierKind::kInverseToReal
           : inverse ? FourierKind::kInverse
                     : FourierKind::kForward;
  l.real = x.back() == 1;
  l.given = x[along];
  l.count = y[along];
  l.length = length.value_or(to_real ? (l.given - 1) * 2 : l.given);
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    if (i < along) l.groups *= x[i];
    if (i > along) l.inner *= x[i];
  }
  l.x_line = x.back();
  l.y_line = y.back();
  l.x_step = l.inner * l.x_line;
  l.y_step = l.inner * l.y_line;
  l.x_group = l.given * l.x_step;
  l.y_group = l.count * l.y_step;
  return l;
}

int64_t dft_axis(const Node& node, int64_t opset, std::optional<int64_t> input) {
  return opset < 20 ? node.attr_int("axis", 1) : input.value_or(-2);
}

FourierLayout stft_layout(const Shape& x, const Shape& y, int64_t frame_step, int64_t length) {
  const int64_t parts = x.size() == 3 ? x[2] : 1;
  FourierLayout l;
  l.real = parts == 1;
  l.length = l.given = length;
  l.groups = y[0];
  l.inner = y[1];
  l.count = y[2];
  l.x_step = parts;
  l.y_step = 2;
  l.x_line = frame_step * parts;
  l.y_line = l.count * l.y_step;
  l.x_group = x[1] * parts;
  l.y_group = l.inner * l.y_line;
  return l;
}

Fourier make_fourier(const FourierLayout& layout) {
  Fourier f{.kind = layout.kind, .length = layout.length};
  f.halved = f.kind == FourierKind::kForward && layout.real && f.length % 2 == 0;
  f.passes = make_passes(f.halved ? f.length / 2 : f.length);
  if (f.halved) f.roots = roots_of(f.length);
  return f;
}

void transform_lines(const Fourier& fourier, const FourierLines<double>& lines) {
  std::vector<double> work(static_cast<size_t>(fourier.work()));
  for (int64_t i = 0; i < lines.layout.lines(); ++i)
    one_line::transform_some(fourier, lines, i, 1, work.data());
}

} // namespace octet
