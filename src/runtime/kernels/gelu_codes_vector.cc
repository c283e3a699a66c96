// SPDX-License-Identifier: Apache-2.0
// Codes of GELU. A short polynomial tells where a result lies to within kError of its argument:
// far enough from the middle between two codes that is the code of the exact steps, and a vector
// with a number that is not takes those steps (numerics::gelu, a division, rounding).
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gelu_codes_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/tile_function.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kStep = static_cast<int64_t>(kLanesF);

// GELU(x) / x - 1/2 is an odd function, x * polynomial(x^2) to within 1.4e-5 on [-kEnd, kEnd], and
// 1/2 to within 1.1e-5 from there on: minimax fits, evaluated in float.
struct Exact {
  static constexpr float kFit[] = {0x1.9879dap-2F,   -0x1.0fbf3ep-4F,  0x1.41a65cp-7F,
                                   -0x1.229a52p-10F, 0x1.87d3b8p-14F,  -0x1.799584p-18F,
                                   0x1.e459d4p-23F,  -0x1.6e1f3ep-28F, 0x1.e97dfap-35F};
  static HWY_INLINE VecF of(VecF x) { return gelu(x); }
};
struct ByTanh {
  static constexpr float kFit[] = {0x1.98776p-2F,    -0x1.10fc24p-4F, 0x1.488c1cp-7F,
                                   -0x1.318522p-10F, 0x1.aa3954p-14F, -0x1.a80dfep-18F,
                                   0x1.172cb2p-22F,  -0x1.ae8b5p-28F, 0x1.2416c8p-34F};
  static HWY_INLINE VecF of(VecF x) { return gelu_tanh(x); }
};
constexpr float kEnd = 4.25F;
// Of GELU(x) / x, with the steps that follow; below -kEnd of x = -kEnd.
constexpr float kError = 3e-5F;
// Half a code less what rounding a number of codes to float may change.
constexpr float kNearlyHalf = 0.4999F;

template <typename Form>
struct Coder {
  explicit Coder(const QuantizeArgs& a)
      : to(rounding(a.zero_point, a.lo, a.hi)), scale(splat(a.scale)),
        per_step(splat(1.0F / a.scale)), error(splat(kError / a.scale)) {}

  HWY_INLINE VecI operator()(VecF x) const {
    // NaN and what is below become -kEnd, whose code is that of 0 or is found by the exact steps.
    const VecF low = at_least_or(x, splat(-kEnd));
    const VecF near = at_most(low, splat(kEnd));
    const VecF part = polynomial(Form::kFit, hn::Mul(near, near));
    const VecF gate = hn::MulAdd(near, part, splat(0.5F));
    const VecF steps = hn::Mul(hn::Mul(low, per_step), gate);
    VecI codes;
    const VecF sure = hn::NegMulAdd(hn::Abs(low), error, splat(kNearlyHalf));
    if (HWY_LIKELY(round_near(steps, sure, to, codes))) return codes;
    return round_saturate(hn::Div(Form::of(x), scale), to);
  }

  // x > lo ? x : lo.
  static HWY_INLINE VecF at_least_or(VecF x, VecF lo) {
    return hn::IfThenElse(hn::Gt(x, lo), x, lo);
  }

  Rounding to;
  VecF scale, per_step, error;
};

template <typename Form, typename T>
HWY_INLINE void run(const QuantizeArgs& a) {
  const Coder<Form> code(a);
  const float* const x = a.x;
  const int64_t count = a.count;
  T* const y = static_cast<T*>(a.y);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    store_codes(code(hn::LoadU(F32(), x + i)), y + i);
  }
  if (i < count) store_some_codes(code(load_some(x + i, count - i)), y + i, count - i);
}

template <typename Form>
void codes_of(const QuantizeArgs& a) {
  if (a.is_signed) return run<Form, int8_t>(a);
  run<Form, uint8_t>(a);
}

} // namespace

void gelu_codes(const QuantizeArgs& args) {
  codes_of<Exact>(args);
}

void gelu_tanh_codes(const QuantizeArgs& args) {
  codes_of<ByTanh>(args);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void gelu_codes_avx2(const QuantizeArgs& args) {
  N_AVX2::gelu_codes(args);
}
void gelu_codes_avx512(const QuantizeArgs& args) {
  N_AVX3::gelu_codes(args);
}
void gelu_tanh_codes_avx2(const QuantizeArgs& args) {
  N_AVX2::gelu_tanh_codes(args);
}
void gelu_tanh_codes_avx512(const QuantizeArgs& args) {
  N_AVX3::gelu_tanh_codes(args);
}
} // namespace octet::kernels
#endif
