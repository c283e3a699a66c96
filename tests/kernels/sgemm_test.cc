// SPDX-License-Identifier: Apache-2.0
// Float product on every instruction set against a chain of std::fma written here. Bit-exact.
#include <bit>
#include <cmath>
#include <limits>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/sgemm.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

struct FloatProblem {
  int64_t m, n, k;
  bool bias = true;
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
  int64_t extra_stride = 0;
  bool transposed = false;
  bool specials = false;
};

void randomize(float* values, int64_t count, std::mt19937& random, bool specials) {
  std::normal_distribution<float> normal;
  const float odd[] = {0.0F,
                       -0.0F,
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::denorm_min(),
                       std::numeric_limits<float>::max(),
                       1e-30F};
  for (int64_t i = 0; i < count; ++i) {
    values[i] = specials && random() % 16 == 0 ? odd[random() % 8] : normal(random);
  }
}

// Same bits, or both NaN.
void expect_same(const Guarded<float>& got, const std::vector<float>& want) {
  ASSERT_TRUE(got.guards_intact());
  for (int64_t i = 0; i < got.size(); ++i) {
    const float w = want[static_cast<size_t>(i)];
    if (std::isnan(w) && std::isnan(got[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(w))
        << "at " << i << ": " << got[i] << " instead of " << w;
  }
}

void check(const FloatProblem& p, std::mt19937& random, ParallelFor& parallel) {
  const int64_t stride = p.k + p.extra_stride;
  const int64_t x_count = p.m == 0 ? 0 : (p.m - 1) * stride + p.k;
  Guarded<float> x(x_count);
  Guarded<float> bias(p.n);
  std::vector<float> w(static_cast<size_t>(p.n * p.k));
  randomize(x.data(), x_count, random, p.specials);
  randomize(w.data(), p.n * p.k, random, false);
  randomize(bias.data(), p.n, random, p.specials);
  const int64_t k_stride = p.transposed ? 1 : p.n;
  const int64_t n_stride = p.transposed ? p.k : 1;
  std::vector<float> want;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0.0F;
      for (int64_t q = 0; q < p.k; ++q) {
        sum = std::fma(x[i * stride + q], w[static_cast<size_t>(q * k_stride + j * n_stride)], sum);
      }
      if (p.bias) sum += bias[j];
      if (sum < p.lo) sum = p.lo;
      if (sum > p.hi) sum = p.hi;
      want.push_back(sum);
    }
  }
  for (const Isa isa : covered_isas("sgemm")) {
    SCOPED_TRACE(std::string(isa_name(isa)) + " m=" + std::to_string(p.m) +
                 " n=" + std::to_string(p.n) + " k=" + std::to_string(p.k));
    const FloatWeights weights{w.data(), k_stride, n_stride, p.n, p.k};
    const PackedFloat packed = pack_float(weights, isa);
    Guarded<float> y(p.m * p.n, 1);
    SgemmArgs args;
    args.m = p.m;
    args.x = x.data();
    args.x_stride = stride;
    args.w = &packed;
    args.epilogue = {p.bias ? bias.data() : nullptr, p.lo, p.hi};
    args.y = y.data();
    args.y_stride = p.n;
    sgemm(args, parallel);
    expect_same(y, want);
  }
}

TEST(Sgemm, AllSizesAroundTheTile) {
  std::mt19937 random(1);
  SerialFor serial;
  for (const int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15}) {
    for (const int64_t n : {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 35, 67}) {
      for (const int64_t k : {0, 1, 2, 9, 67}) {
        check({.m = m, .n = n, .k = k}, random, serial);
      }
    }
  }
}

TEST(Sgemm, BlocksOfKContinueTheChain) {
  std::mt19937 random(2);
  ThreadPool pool(3);
  for (const int64_t k : {255, 256, 257, 511, 512, 513, 1025}) {
    check({.m = 7, .n = 21, .k = k, .extra_stride = 3}, random, pool);
    check({.m = 5, .n = 48, .k = k, .bias = false, .transposed = true}, random, pool);
  }
  check({.m = 130, .n = 300, .k = 300}, random, pool);
}

TEST(Sgemm, FewRowsTakeSeveralPanels) {
  std::mt19937 random(5);
  ThreadPool pool(3);
  for (const int64_t m : {1, 2, 3}) {
    for (const int64_t n : {63, 64, 65, 96, 127, 128, 129, 130, 160, 257}) {
      for (const int64_t k : {1, 7, 256, 300}) {
        check({.m = m, .n = n, .k = k, .extra_stride = 1, .specials = true}, random, pool);
        check({.m = m, .n = n, .k = k, .bias = false, .lo = -1.0F, .hi = 2.0F}, random, pool);
      }
    }
  }
}

TEST(Sgemm, ReluAndSpecialValues) {
  std::mt19937 random(3);
  SerialFor serial;
  const float inf = std::numeric_limits<float>::infinity();
  for (const int64_t n : {5, 16, 37}) {
    check({.m = 9, .n = n, .k = 33, .lo = 0.0F, .hi = inf, .specials = true}, random, serial);
    check({.m = 9, .n = n, .k = 33, .lo = 0.0F, .hi = 6.0F, .specials = true}, random, serial);
    check({.m = 9, .n = n, .k = 33, .specials = true}, random, serial);
  }
}

void check_batch(int64_t batch, int64_t m, int64_t n, int64_t k, bool turned, ParallelFor& loop) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
  std::mt19937 random(4);
  const auto vector = [&](int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    randomize(out.data(), count, random, false);
    return out;
  };
  const std::vector<float> x = vector(batch * m * k), w = vector(batch * n * k), bias = vector(n);
  const FloatEpilogue epilogue{.bias = bias.data(), .lo = -0.75F, .hi = 1.0F};
  const FloatWeights weights{w.data(), turned ? 1 : n, turned ? k : 1, n, k};
  std::vector<int64_t> x_offsets, w_offsets, y_offsets;
  std::vector<float> want;
  for (int64_t b = 0; b < batch; ++b) {
    x_offsets.push_back(b * m * k);
    w_offsets.push_back((batch - 1 - b) * n * k);
    y_offsets.push_back(b * m * n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0.0F;
        for (int64_t q = 0; q < k; ++q) {
          const int64_t at = w_offsets.back() + q * weights.k_stride + j * weights.n_stride;
          sum = std::fma(x[static_cast<size_t>(x_offsets.back() + i * k + q)],
                         w[static_cast<size_t>(at)], sum);
        }
        want.push_back(std::clamp(sum + bias[static_cast<size_t>(j)], epilogue.lo, epilogue.hi));
      }
    }
  }
  for (const Isa isa : covered_isas("batched sgemm")) {
    Guarded<float> y(batch * m * n);
    BatchedSgemmArgs args;
    args.batch = batch;
    args.m = m;
    args.x = x.data();
    args.x_offsets = x_offsets.data();
    args.x_stride = k;
    args.weights = weights;
    args.w_offsets = w_offsets.data();
    args.epilogue = epilogue;
    args.y = y.data();
    args.y_offsets = y_offsets.data();
    args.y_stride = n;
    args.isa = isa;
    batched_sgemm(args, loop);
    expect_same(y, want);
  }
}

TEST(Sgemm, BatchedEqualsOneByOne) {
  ThreadPool pool(2);
  for (const bool turned : {true, false}) {
    check_batch(5, 9, 19, 70, turned, pool);
    check_batch(700, 3, 3, 3, turned, pool); // few numbers each
    check_batch(90, 16, 1, 8, turned, pool);
    check_batch(30, 1, 9, 5, turned, pool);
    check_batch(30, 7, 2, 0, turned, pool);
    check_batch(3, 8, 8, 8, turned, pool); // the most that counts as few
    check_batch(3, 8, 8, 9, turned, pool);
  }
}

} // namespace
} // namespace octet::kernels
