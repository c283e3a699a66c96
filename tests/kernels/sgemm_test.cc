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

TEST(Sgemm, BatchedEqualsOneByOne) {
  std::mt19937 random(4);
  constexpr int64_t kBatch = 5;
  constexpr int64_t kM = 9;
  constexpr int64_t kN = 19;
  constexpr int64_t kK = 70;
  std::vector<float> x(kBatch * kM * kK);
  std::vector<float> w(kBatch * kN * kK);
  randomize(x.data(), static_cast<int64_t>(x.size()), random, false);
  randomize(w.data(), static_cast<int64_t>(w.size()), random, false);
  std::vector<int64_t> x_offsets;
  std::vector<int64_t> w_offsets;
  std::vector<int64_t> y_offsets;
  std::vector<float> want;
  for (int64_t b = 0; b < kBatch; ++b) {
    x_offsets.push_back(b * kM * kK);
    w_offsets.push_back((kBatch - 1 - b) * kN * kK);
    y_offsets.push_back(b * kM * kN);
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        float sum = 0.0F;
        for (int64_t q = 0; q < kK; ++q) {
          sum = std::fma(x[static_cast<size_t>(x_offsets.back() + i * kK + q)],
                         w[static_cast<size_t>(w_offsets.back() + j * kK + q)], sum);
        }
        want.push_back(sum);
      }
    }
  }
  ThreadPool pool(2);
  for (const Isa isa : covered_isas("batched sgemm")) {
    Guarded<float> y(kBatch * kM * kN);
    BatchedSgemmArgs args;
    args.batch = kBatch;
    args.m = kM;
    args.x = x.data();
    args.x_offsets = x_offsets.data();
    args.x_stride = kK;
    args.weights = {w.data(), 1, kK, kN, kK};
    args.w_offsets = w_offsets.data();
    args.y = y.data();
    args.y_offsets = y_offsets.data();
    args.y_stride = kN;
    args.isa = isa;
    batched_sgemm(args, pool);
    expect_same(y, want);
  }
}

} // namespace
} // namespace octet::kernels
