// SPDX-License-Identifier: Apache-2.0
// Vector form of the cells of LSTM, GRU and RNN: core/numerics/cell.h lane by lane.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/recur_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/recur.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

using numerics::CellFunction;
using numerics::CellRules;

VecF apply(const CellFunction& f, float clip, VecF x) {
  x = at_most(at_least(x, splat(-clip)), splat(clip));
  switch (f.kind) {
  case CellFunction::Kind::kSigmoid:
    return sigmoid(x);
  case CellFunction::Kind::kTanh:
    return tanh(x);
  case CellFunction::Kind::kRelu:
    return relu(x);
  case CellFunction::Kind::kHardSigmoid:
    return at_most(at_least(hn::MulAdd(splat(f.alpha), x, splat(f.beta)), splat(0.0F)),
                   splat(1.0F));
  }
  return x;
}

constexpr auto kStep = static_cast<int64_t>(kLanesF);

// A whole vector, or the first `count` lanes of one.
struct Whole {
  HWY_INLINE VecF load(const float* p) const { return hn::LoadU(F32(), p); }
  HWY_INLINE void store(VecF v, float* p) const { hn::StoreU(v, F32(), p); }
};
struct Part {
  int64_t count;
  HWY_INLINE VecF load(const float* p) const { return load_some(p, count); }
  HWY_INLINE void store(VecF v, float* p) const { store_some(v, p, count); }
};

template <typename Function>
HWY_INLINE void each(int64_t hidden, Function&& function) {
  int64_t i = 0;
  for (; i + kStep <= hidden; i += kStep) {
    function(Whole(), i);
  }
  if (i < hidden) function(Part{hidden - i}, i);
}

HWY_INLINE VecF fused(VecF z, VecF h, VecF n) {
  return hn::MulAdd(z, h, hn::Mul(hn::Sub(splat(1.0F), z), n));
}

void lstm_usual(const CellArgs& a) {
  const int64_t n = a.hidden;
  each(n, [&](auto io, int64_t i) HWY_ATTR {
    const float* sum = a.sums + i;
    const VecF in = sigmoid(io.load(sum));
    const VecF forget = sigmoid(io.load(sum + 2 * n));
    const VecF candidate = tanh(io.load(sum + 3 * n));
    const VecF c = hn::MulAdd(forget, io.load(a.c + i), hn::Mul(in, candidate));
    io.store(c, a.c + i);
    io.store(hn::Mul(sigmoid(io.load(sum + n)), tanh(c)), a.h + i);
  });
}

void lstm(const CellArgs& a) {
  const CellRules& rules = *a.rules;
  if (rules.usual() && a.peepholes == nullptr) return lstm_usual(a);
  const int64_t n = a.hidden;
  each(n, [&](auto io, int64_t i) HWY_ATTR {
    const auto gate = [&](int64_t g, int64_t peephole, VecF c) HWY_ATTR {
      VecF sum = io.load(a.sums + g * n + i);
      if (a.peepholes != nullptr) sum = hn::MulAdd(io.load(a.peepholes + peephole * n + i), c, sum);
      return apply(rules.f, rules.clip, sum);
    };
    const VecF before = io.load(a.c + i);
    const VecF in = gate(0, 0, before);
    const VecF forget = rules.coupled ? hn::Sub(splat(1.0F), in) : gate(2, 2, before);
    const VecF candidate = apply(rules.g, rules.clip, io.load(a.sums + 3 * n + i));
    const VecF c = hn::MulAdd(forget, before, hn::Mul(in, candidate));
    io.store(c, a.c + i);
    io.store(hn::Mul(gate(1, 1, c), apply(rules.h, rules.clip, c)), a.h + i);
  });
}

void rnn(const CellArgs& a) {
  each(a.hidden, [&](auto io, int64_t i) HWY_ATTR {
    io.store(apply(a.rules->f, a.rules->clip, io.load(a.sums + i)), a.h + i);
  });
}

void gru_reset(const CellArgs& a) {
  const CellRules& rules = *a.rules;
  each(a.hidden, [&](auto io, int64_t i) HWY_ATTR {
    io.store(apply(rules.f, rules.clip, io.load(a.sums + i)), a.sums + i);
    const VecF r = apply(rules.f, rules.clip, io.load(a.sums + a.hidden + i));
    io.store(hn::Mul(r, io.load(a.h + i)), a.other + i);
  });
}

void gru(const CellArgs& a) {
  const CellRules& rules = *a.rules;
  each(a.hidden, [&](auto io, int64_t i) HWY_ATTR {
    const VecF n = apply(rules.g, rules.clip, io.load(a.sums + 2 * a.hidden + i));
    io.store(fused(io.load(a.sums + i), io.load(a.h + i), n), a.h + i);
  });
}

void gru_linear(const CellArgs& a) {
  const CellRules& rules = *a.rules;
  each(a.hidden, [&](auto io, int64_t i) HWY_ATTR {
    const VecF z = apply(rules.f, rules.clip, io.load(a.sums + i));
    const VecF r = apply(rules.f, rules.clip, io.load(a.sums + a.hidden + i));
    const VecF sum = hn::MulAdd(r, io.load(a.other + i), io.load(a.sums + 2 * a.hidden + i));
    io.store(fused(z, io.load(a.h + i), apply(rules.g, rules.clip, sum)), a.h + i);
  });
}

void scaled(const ScaledSums& a) {
  static_assert(kColumnsPerPanel % kStep == 0);
  const hn::RebindToSigned<F32> i32;
  const VecF scale = splat(a.scale);
  const auto zero = hn::Set(i32, a.zero);
  each(a.count, [&](auto io, int64_t i) HWY_ATTR {
    const int32_t* acc = a.acc + i / kColumnsPerPanel * a.acc_step + i % kColumnsPerPanel;
    const auto sum = hn::Sub(hn::LoadU(i32, acc), hn::Mul(zero, hn::LoadU(i32, a.column_sums + i)));
    const VecF factor = hn::Mul(scale, io.load(a.scales + i));
    io.store(hn::MulAdd(hn::ConvertTo(F32(), sum), factor, io.load(a.from + i)), a.to + i);
  });
}

} // namespace

CellKernels cells() {
  return {lstm, rnn, gru_reset, gru, gru_linear, scaled};
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
CellKernels cell_kernels_avx2() {
  return N_AVX2::cells();
}
CellKernels cell_kernels_avx512() {
  return N_AVX3::cells();
}
} // namespace octet::kernels
#endif
