// SPDX-License-Identifier: Apache-2.0
// Chunks and dispatch of the elementwise functions, with their scalar form. Sums, differences,
// products and quotients need no vector form of their own: each is one correctly rounded operation,
// which the compiler may vectorize freely.
#include "runtime/kernels/unary.h"

#include <algorithm>

#include "core/numerics/math.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kUnaryNs = 1.0;
constexpr double kBinaryNs = 0.3;

template <typename F>
void map(const float* x, int64_t count, float* y, F f) {
  for (int64_t i = 0; i < count; ++i) {
    y[i] = f(x[i]);
  }
}

template <typename Op>
void combine(
    const float* a, const float* b, int64_t begin, int64_t end, int64_t period, float* y, Op op) {
  if (period == 1) {
    const float v = b[0];
    for (int64_t i = begin; i < end; ++i) {
      y[i] = op(a[i], v);
    }
    return;
  }
  for (int64_t i = begin; i < end;) {
    const int64_t at = i % period;
    const int64_t run = std::min(period - at, end - i);
    for (int64_t j = 0; j < run; ++j) {
      y[i + j] = op(a[i + j], b[at + j]);
    }
    i += run;
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
  }
}

void unary(Unary f, const float* x, int64_t count, float* y, Isa isa, ParallelFor& parallel) {
  auto run = unary_scalar;
#if defined(__x86_64__)
  if (isa == Isa::kAvx2) run = unary_avx2;
  if (isa >= Isa::kAvx512) run = unary_avx512;
#endif
  parallel.run(count, grain_for(kUnaryNs),
               [&](int64_t begin, int64_t end) { run(f, x + begin, end - begin, y + begin); });
}

void binary(Binary op,
            const float* a,
            const float* b,
            int64_t count,
            int64_t period,
            float* y,
            Isa /*isa*/,
            ParallelFor& parallel) {
  parallel.run(count, grain_for(kBinaryNs), [&](int64_t begin, int64_t end) {
    switch (op) {
    case Binary::kAdd:
      return combine(a, b, begin, end, period, y, [](float p, float q) { return p + q; });
    case Binary::kSub:
      return combine(a, b, begin, end, period, y, [](float p, float q) { return p - q; });
    case Binary::kMul:
      return combine(a, b, begin, end, period, y, [](float p, float q) { return p * q; });
    case Binary::kDiv:
      return combine(a, b, begin, end, period, y, [](float p, float q) { return p / q; });
    }
  });
}

} // namespace octet::kernels
