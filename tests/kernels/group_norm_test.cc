// SPDX-License-Identifier: Apache-2.0
// Group norm of channels that come last: close to the exact values in double, and the same bits on
// every instruction set.
#include <cmath>
#include <cstring>
#include <vector>

#include "core/numerics/group_norm.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/group_norm_last.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

Guarded<float> drawn_values(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal(0.3F, 2.0F);
  Guarded<float> x(count, 1);
  for (int64_t i = 0; i < count; ++i)
    x[i] = normal(random);
  return x;
}

/// The result by ONNX's formula in double.
std::vector<double> exact(const GroupNormLastArgs& a) {
  const int64_t step = a.groups * a.channels;
  std::vector<double> out(static_cast<size_t>(a.images * a.pixels * step));
  for (int64_t i = 0; i < a.images; ++i)
    for (int64_t g = 0; g < a.groups; ++g) {
      const auto at = [&](int64_t p, int64_t c) {
        return (i * a.pixels + p) * step + g * a.channels + c;
      };
      const auto n = static_cast<double>(a.pixels * a.channels);
      double mean = 0, variance = 0;
      for (int64_t p = 0; p < a.pixels; ++p)
        for (int64_t c = 0; c < a.channels; ++c)
          mean += a.x[at(p, c)] / n;
      for (int64_t p = 0; p < a.pixels; ++p)
        for (int64_t c = 0; c < a.channels; ++c)
          variance += (a.x[at(p, c)] - mean) * (a.x[at(p, c)] - mean) / n;
      for (int64_t p = 0; p < a.pixels; ++p)
        for (int64_t c = 0; c < a.channels; ++c)
          out[static_cast<size_t>(at(p, c))] = (a.x[at(p, c)] - mean) /
                                                   std::sqrt(variance + a.epsilon) *
                                                   a.gain[g * a.channels + c] +
                                               a.bias[g * a.channels + c];
    }
  return out;
}

TEST(GroupNormLast, CloseToExactAndTheSameEverywhere) {
  struct Case {
    int64_t images, pixels, groups, channels;
  };
  std::mt19937 random(7);
  ThreadPool pool(3);
  for (const Case& c : {Case{1, 1, 1, 1},
                        {2, 3, 1, 5},
                        {1, 4, 3, 7},
                        {3, 5, 6, 1},
                        {1, 33, 2, 8},
                        {1, 64, 4, 16},
                        {2, 31, 32, 4},
                        {1, 100, 5, 17},
                        {1, 7, 1, 130},
                        {1, 38, 130, 1},
                        {2, 9, 3, 65}}) {
    const int64_t width = c.groups * c.channels, count = c.images * c.pixels * width;
    const Guarded<float> x = drawn_values(count, random);
    const Guarded<float> gain = drawn_values(width, random);
    const Guarded<float> bias = drawn_values(width, random);
    GroupNormLastArgs args{x.data(),    c.images,    c.pixels, c.groups, c.channels,
                           gain.data(), bias.data(), 1e-5F,    nullptr};
    std::vector<float> want(static_cast<size_t>(count));
    for (int64_t i = 0; i < c.images; ++i)
      for (int64_t g = 0; g < c.groups; ++g) {
        const int64_t at = i * c.pixels * width + g * c.channels;
        numerics::group_norm_last(x.data() + at, c.pixels, width, c.channels,
                                  gain.data() + g * c.channels, bias.data() + g * c.channels,
                                  args.epsilon, want.data() + at);
      }
    const std::vector<double> near = exact(args);
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(want[i], near[i], 5e-5 * (1.0 + std::fabs(near[i])));
    for (const Isa isa : covered_isas("group norm")) {
      Guarded<float> y(count, 1);
      args.y = y.data();
      group_norm_last(args, isa, pool);
      ASSERT_TRUE(y.guards_intact());
      ASSERT_TRUE(std::memcmp(y.data(), want.data(), want.size() * sizeof(float)) == 0)
          << isa_name(isa) << ": " << c.images << " images, " << c.pixels << " pixels, " << c.groups
          << " groups of " << c.channels;
    }
  }
}

} // namespace
} // namespace octet::kernels
