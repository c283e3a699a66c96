// SPDX-License-Identifier: Apache-2.0
// Vector form of group_norm_last: a vector is channels of one pixel, groups side by side.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/group_norm_last_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cmath>

#include "core/numerics/group_norm.h"
#include "runtime/kernels/group_norm_last.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kStep = static_cast<int64_t>(kLanesF);
constexpr auto kChains = numerics::kPixelChains;

/// Pixels whose lines stay in the first cache while all vectors of channels go through them.
constexpr int64_t kPixelsTogether = 32;

/// Some groups of an image, as they lie.
struct Channels {
  const float* x;
  float* y;
  int64_t pixels, step; ///< elements from pixel to pixel
  int64_t count;        ///< of channels, all groups together
  float *chains, *mean, *inverse;
  int64_t row; ///< floats of one of the arrays: whole vectors

  HWY_INLINE int64_t lanes(int64_t c) const { return std::min(kStep, count - c); }
};

HWY_INLINE VecF load(const float* p, int64_t count) {
  return count == kStep ? hn::LoadU(F32(), p) : load_some(p, count);
}

/// Each channel's chains of add(element, mean, chain), folded into the first.
template <typename Add>
HWY_INLINE void sum_pixels(const Channels& a, const Add add) {
  std::fill_n(a.chains, kChains * a.row, 0.0F);
  const F32 f;
  for (int64_t first = 0; first < a.pixels; first += kPixelsTogether) {
    const int64_t end = std::min(first + kPixelsTogether, a.pixels);
    for (int64_t c = 0; c < a.count; c += kStep) {
      const int64_t lanes = a.lanes(c);
      const VecF mean = hn::LoadU(f, a.mean + c);
      float* const chain = a.chains + c;
      VecF sum0 = hn::LoadU(f, chain), sum1 = hn::LoadU(f, chain + a.row);
      VecF sum2 = hn::LoadU(f, chain + 2 * a.row), sum3 = hn::LoadU(f, chain + 3 * a.row);
      const float* x = a.x + first * a.step + c;
      int64_t p = first;
      for (; p + kChains <= end; p += kChains, x += kChains * a.step) {
        sum0 = add(load(x, lanes), mean, sum0);
        sum1 = add(load(x + a.step, lanes), mean, sum1);
        sum2 = add(load(x + 2 * a.step, lanes), mean, sum2);
        sum3 = add(load(x + 3 * a.step, lanes), mean, sum3);
      }
      if (p < end) sum0 = add(load(x, lanes), mean, sum0);
      if (p + 1 < end) sum1 = add(load(x + a.step, lanes), mean, sum1);
      if (p + 2 < end) sum2 = add(load(x + 2 * a.step, lanes), mean, sum2);
      hn::StoreU(sum0, f, chain);
      hn::StoreU(sum1, f, chain + a.row);
      hn::StoreU(sum2, f, chain + 2 * a.row);
      hn::StoreU(sum3, f, chain + 3 * a.row);
    }
  }
  for (int64_t c = 0; c < a.count; c += kStep) {
    float* const chain = a.chains + c;
    const VecF even = hn::Add(hn::LoadU(f, chain), hn::LoadU(f, chain + 2 * a.row));
    const VecF odd = hn::Add(hn::LoadU(f, chain + a.row), hn::LoadU(f, chain + 3 * a.row));
    hn::StoreU(hn::Add(even, odd), f, chain);
  }
}

/// make(sum of a group) for each of its channels.
template <typename Make>
HWY_INLINE void each_group(const Channels& a, int64_t channels, float* to, const Make make) {
  for (int64_t first = 0; first < a.count; first += channels) {
    const float* sums = a.chains + first;
    const float value = make(numerics::lane_sum(channels, [&](int64_t c) { return sums[c]; }));
    std::fill_n(to + first, channels, value);
  }
}

} // namespace

void group_norm_last(
    const GroupNormLastArgs& args, int64_t image, int64_t begin, int64_t end, float* scratch) {
  Channels a;
  a.step = args.groups * args.channels;
  const int64_t at = image * args.pixels * a.step + begin * args.channels;
  a.x = args.x + at;
  a.y = args.y + at;
  a.pixels = args.pixels;
  a.count = (end - begin) * args.channels;
  a.row = round_up(a.count, 16);
  a.chains = scratch;
  a.mean = scratch + kChains * a.row;
  a.inverse = a.mean + a.row;
  std::fill_n(a.mean, 2 * a.row, 0.0F);
  const auto n = static_cast<float>(args.channels * args.pixels);
  sum_pixels(a, [](VecF x, VecF, VecF sum) HWY_ATTR { return hn::Add(sum, x); });
  each_group(a, args.channels, a.mean, [n](float sum) { return sum / n; });
  sum_pixels(a, [](VecF x, VecF mean, VecF sum) HWY_ATTR {
    const VecF d = hn::Sub(x, mean);
    return hn::MulAdd(d, d, sum);
  });
  each_group(a, args.channels, a.inverse,
             [&](float sum) { return 1.0F / std::sqrt(sum / n + args.epsilon); });
  const float* const gains = args.gain + begin * args.channels;
  const float* const biases = args.bias + begin * args.channels;
  for (int64_t c = 0; c < a.count; c += kStep) {
    const int64_t lanes = a.lanes(c);
    const VecF mean = hn::LoadU(F32(), a.mean + c), inverse = hn::LoadU(F32(), a.inverse + c);
    const VecF gain = load(gains + c, lanes), bias = load(biases + c, lanes);
    for (int64_t p = 0; p < a.pixels; ++p) {
      const VecF d = hn::Sub(load(a.x + p * a.step + c, lanes), mean);
      const VecF y = hn::MulAdd(hn::Mul(d, inverse), gain, bias);
      if (lanes == kStep)
        hn::StoreU(y, F32(), a.y + p * a.step + c);
      else
        store_some(y, a.y + p * a.step + c, lanes);
    }
  }
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void group_norm_last_avx2(
    const GroupNormLastArgs& args, int64_t image, int64_t begin, int64_t end, float* scratch) {
  N_AVX2::group_norm_last(args, image, begin, end, scratch);
}
void group_norm_last_avx512(
    const GroupNormLastArgs& args, int64_t image, int64_t begin, int64_t end, float* scratch) {
  N_AVX3::group_norm_last(args, image, begin, end, scratch);
}
} // namespace octet::kernels
#endif
