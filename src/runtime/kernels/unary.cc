// SPDX-License-Identifier: Apache-2.0
// Chunks and dispatch of the elementwise functions, with their scalar form.
#include "runtime/kernels/unary.h"

#include <cmath>

#include "core/for_isa.h"
#include "core/numerics/math.h"
#include "core/numerics/round.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kUnaryNs = 1.0;
constexpr double kClipNs = 0.3;
constexpr double kPowerNs = 20.0;

template <typename F>
void map(const float* x, int64_t count, float* y, F f) {
  for (int64_t i = 0; i < count; ++i) {
    y[i] = f(x[i]);
  }
}

template <typename Op>
void combine(const BinaryRun& run, Op op) {
  for (int64_t i = 0; i < run.count; ++i) {
    run.y[i] = op(run.a[i * run.a_step], run.b[i * run.b_step]);
  }
}

} // namespace

void unary_scalar(Unary f, const float* x, int64_t count, float* y) {
  switch (f) {
  case Unary::kExp:
    return map(x, count, y, numerics::exp);
  case Unary::kErf:
    return map(x, count, y, numerics::erf);
  case Unary::kTanh:
    return map(x, count, y, numerics::tanh);
  case Unary::kSigmoid:
    return map(x, count, y, numerics::sigmoid);
  case Unary::kGelu:
    return map(x, count, y, numerics::gelu);
  case Unary::kGeluTanh:
    return map(x, count, y, numerics::gelu_tanh);
  case Unary::kRelu:
    return map(x, count, y, numerics::relu);
  case Unary::kSqrt:
    return map(x, count, y, [](float v) { return std::sqrt(v); });
  case Unary::kReciprocal:
    return map(x, count, y, [](float v) { return 1.0F / v; });
  case Unary::kNeg:
    return map(x, count, y, [](float v) { return -v; });
  case Unary::kAbs:
    return map(x, count, y, [](float v) { return std::fabs(v); });
  case Unary::kSquare:
    return map(x, count, y, [](float v) { return v * v; });
  case Unary::kCube:
    return map(x, count, y, [](float v) {
      const auto d = static_cast<double>(v);
      return static_cast<float>(d * d * d);
    });
  case Unary::kHalfPower:
    return map(x, count, y,
               [](float v) { return std::isinf(v) ? std::fabs(v) : std::sqrt(v + 0.0F); });
  case Unary::kRoundF16:
    return map(x, count, y, numerics::round_to_f16);
  case Unary::kRoundBf16:
    return map(x, count, y, numerics::round_to_bf16);
  }
}

void unary(Unary f, const float* x, int64_t count, float* y, Isa isa, ParallelFor& parallel) {
  const auto run = for_isa<unary_scalar, unary_avx2, unary_avx512>(isa);
  parallel.run(count, grain_for(kUnaryNs),
               [&](int64_t begin, int64_t end) { run(f, x + begin, end - begin, y + begin); });
}

void clip_scalar(const float* x, int64_t count, float lo, float hi, float* y) {
  map(x, count, y, [lo, hi](float v) {
    const float raised = v < lo ? lo : v;
    return raised > hi ? hi : raised;
  });
}

void clip(
    const float* x, int64_t count, float lo, float hi, float* y, Isa isa, ParallelFor& parallel) {
  const auto run = for_isa<clip_scalar, clip_avx2, clip_avx512>(isa);
  parallel.run(count, grain_for(kClipNs),
               [&](int64_t begin, int64_t end) { run(x + begin, end - begin, lo, hi, y + begin); });
}

void power(const float* x, int64_t count, double exponent, float* y, ParallelFor& parallel) {
  parallel.run(count, grain_for(kPowerNs), [&](int64_t begin, int64_t end) {
    map(x + begin, end - begin, y + begin, [exponent](float v) {
      return static_cast<float>(std::pow(static_cast<double>(v), exponent));
    });
  });
}

std::optional<Unary> unary_power(double exponent) {
  // A double holds the square of a float exactly. Where it does not hold the root, the reciprocal
  // or the cube, these are more than 4 ulp of it away from where their rounding to float changes:
  // sqrt(x) = m or 1/x = m has no solution with m in the middle between two floats, and x - m^2 or
  // 1 - mx is no less than a unit of its last place; for cubes all significands were tried (12.5).
  if (exponent == 2) return Unary::kSquare;
  if (exponent == 3) return Unary::kCube;
  if (exponent == 0.5) return Unary::kHalfPower;
  if (exponent == -1) return Unary::kReciprocal;
  return std::nullopt;
}

void binary_scalar(Binary op, const BinaryRun& run) {
  switch (op) {
  case Binary::kAdd:
    return combine(run, [](float p, float q) { return p + q; });
  case Binary::kSub:
    return combine(run, [](float p, float q) { return p - q; });
  case Binary::kMul:
    return combine(run, [](float p, float q) { return p * q; });
  case Binary::kDiv:
    return combine(run, [](float p, float q) { return p / q; });
  case Binary::kMin:
    return combine(run, [](float p, float q) { return std::isnan(p) || p < q ? p : q; });
  case Binary::kMax:
    return combine(run, [](float p, float q) { return std::isnan(p) || p > q ? p : q; });
  }
}

} // namespace octet::kernels
