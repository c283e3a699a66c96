// SPDX-License-Identifier: Apache-2.0
// Transposed convolution on every instruction set against direct loops. Bit-exact.
#include <cmath>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/transposed_conv.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

struct TransposedProblem {
  int64_t batch, h, w, in, out, kernel_h, kernel_w, stride_h, stride_w;
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  int64_t dilation_h = 1, dilation_w = 1, groups = 1;
};

constexpr TransposedProblem kTransposedProblems[] = {
    {2, 5, 7, 16, 8, 3, 3, 2, 2, 1, 1, 0, 0},         // a decoder's
    {1, 4, 4, 5, 33, 4, 4, 2, 2, 1, 1, 1, 1},         // even kernel, odd channels
    {2, 3, 4, 6, 4, 2, 3, 3, 2, 0, 0, 0, 0, 1, 1, 2}, // groups; phases without taps
    {1, 6, 5, 4, 12, 3, 2, 2, 3, 2, 0, 1, 1, 2, 3},   // dilated
    {1, 1, 130, 8, 8, 1, 8, 1, 4, 0, 2, 0, 2},        // a line, more pixels than a block
    {3, 5, 5, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 7}, // one group a channel
    {1, 2, 2, 3, 5, 1, 1, 3, 3, 0, 0, -2, -2},        // padded behind its end
};

ConvShape shape_of(const TransposedProblem& p) {
  ConvShape s;
  s.batch = p.batch;
  s.in_h = p.h;
  s.in_w = p.w;
  s.in_c = p.in;
  s.out_c = p.out;
  s.kernel_h = p.kernel_h;
  s.kernel_w = p.kernel_w;
  s.stride_h = p.stride_h;
  s.stride_w = p.stride_w;
  s.dilation_h = p.dilation_h;
  s.dilation_w = p.dilation_w;
  s.pad_top = p.top;
  s.pad_left = p.left;
  s.groups = p.groups;
  s.out_h = (p.h - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1 - p.top - p.bottom;
  s.out_w = (p.w - 1) * p.stride_w + (p.kernel_w - 1) * p.dilation_w + 1 - p.left - p.right;
  return s;
}

float transposed_sum(
    const ConvShape& s, const float* x, const float* w, int64_t pixel, int64_t out) {
  const int64_t image = pixel / (s.out_h * s.out_w), row = pixel / s.out_w % s.out_h,
                column = pixel % s.out_w, first = out / s.group_out() * s.group_in();
  float sum = 0.0F;
  for (int64_t i = 0; i < s.kernel_h; ++i)
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t y = row + s.pad_top - i * s.dilation_h;
      const int64_t z = column + s.pad_left - j * s.dilation_w;
      if (y < 0 || z < 0 || y % s.stride_h != 0 || z % s.stride_w != 0) continue;
      if (y / s.stride_h >= s.in_h || z / s.stride_w >= s.in_w) continue;
      const float* from =
          x + ((image * s.in_h + y / s.stride_h) * s.in_w + z / s.stride_w) * s.in_c + first;
      const float* by = w + ((out * s.kernel_h + i) * s.kernel_w + j) * s.group_in();
      for (int64_t c = 0; c < s.group_in(); ++c)
        sum = std::fma(from[c], by[c], sum);
    }
  return sum;
}

TEST(TransposedConv, IsOneChainOverTheTapsThatHit) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  ThreadPool pool(2);
  for (const TransposedProblem& p : kTransposedProblems) {
    const ConvShape s = shape_of(p);
    std::vector<float> w(static_cast<size_t>(s.out_c * s.k()));
    Guarded<float> x(s.batch * s.in_h * s.in_w * s.in_c);
    Guarded<float> bias(s.out_c);
    for (float& v : w)
      v = normal(random);
    for (int64_t i = 0; i < x.size(); ++i)
      x[i] = normal(random);
    for (int64_t i = 0; i < s.out_c; ++i)
      bias[i] = normal(random);
    x[x.size() / 2] = NAN;
    for (const Isa isa : covered_isas("transposed conv")) {
      const PackedTransposedConv packed = pack_transposed_conv(w.data(), s, isa);
      Guarded<float> y(s.pixels() * s.out_c);
      TransposedConvArgs args;
      args.shape = s;
      args.x = x.data();
      args.w = &packed;
      args.epilogue = {.bias = bias.data(), .hi = 1.0F};
      args.y = y.data();
      transposed_conv(args, pool);
      ASSERT_TRUE(y.guards_intact());
      for (int64_t i = 0; i < y.size(); ++i) {
        float want =
            transposed_sum(s, x.data(), w.data(), i / s.out_c, i % s.out_c) + bias[i % s.out_c];
        if (want > 1.0F) want = 1.0F;
        ASSERT_TRUE(y[i] == want || (std::isnan(y[i]) && std::isnan(want)))
            << isa_name(isa) << " problem " << &p - kTransposedProblems << " at " << i << ": "
            << y[i] << ", not " << want;
      }
    }
  }
}

} // namespace
} // namespace octet::kernels
