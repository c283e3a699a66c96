// SPDX-License-Identifier: Apache-2.0
// Chunks and dispatch of the elementwise functions, with their scalar form.
#include "runtime/kernels/unary.h"

#include <cmath>

#include "core/numerics/math.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kUnaryNs = 1.0;

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
  }
}

} // namespace octet::kernels
