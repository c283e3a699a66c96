// SPDX-License-Identifier: Apache-2.0
// Batched product of two 8-bit activations on every instruction set against plain loops in 64 bits,
// epilogues written out. Bit-exact.
#include <cmath>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/qmatmul.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Fill;
using octet::test::fill;
using octet::test::Guarded;
using octet::test::share;

struct Operand8 {
  bool is_signed = true;
  int zero = 0;
  int lo() const { return is_signed ? -128 : 0; }
  int hi() const { return is_signed ? 127 : 255; }
};

struct QmatmulProblem {
  int64_t batch, m, n, k;
  Operand8 a{};
  Operand8 b{};
  Fill how = Fill::kUniform;
  float multiplier = 0.001F;
};

int less_zero(uint8_t bits, const Operand8& of) {
  return (of.is_signed ? static_cast<int8_t>(bits) : bits) - of.zero;
}

struct QmatmulData {
  Guarded<uint8_t> a;
  Guarded<uint8_t> b;
  std::vector<int64_t> a_offsets, b_offsets;
  std::vector<int64_t> sums;
};

// Items of a stand backwards, items of b are shared by two of the batch.
QmatmulData make_qmatmul_data(const QmatmulProblem& p, std::mt19937& random) {
  QmatmulData d{Guarded<uint8_t>(p.batch * p.m * p.k, 1),
                Guarded<uint8_t>((p.batch + 1) / 2 * p.k * p.n, 3),
                {},
                {},
                {}};
  fill(d.a.data(), d.a.size(), p.a.lo(), p.a.hi(), p.how, random);
  fill(d.b.data(), d.b.size(), p.b.lo(), p.b.hi(), p.how, random);
  for (int64_t item = 0; item < p.batch; ++item) {
    d.a_offsets.push_back((p.batch - 1 - item) * p.m * p.k);
    d.b_offsets.push_back(item / 2 * p.k * p.n);
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        int64_t sum = 0;
        for (int64_t q = 0; q < p.k; ++q) {
          sum += int64_t{less_zero(d.a[d.a_offsets.back() + i * p.k + q], p.a)} *
                 less_zero(d.b[d.b_offsets.back() + q * p.n + j], p.b);
        }
        d.sums.push_back(sum);
      }
    }
  }
  return d;
}

QmatmulArgs args_of(const QmatmulProblem& p, const QmatmulData& d, Isa isa) {
  QmatmulArgs args;
  args.batch = p.batch;
  args.m = p.m;
  args.n = p.n;
  args.k = p.k;
  args.a = d.a.data();
  args.a_offsets = d.a_offsets.data();
  args.a_signed = p.a.is_signed;
  args.a_zero_point = p.a.zero;
  args.b = d.b.data();
  args.b_offsets = d.b_offsets.data();
  args.b_signed = p.b.is_signed;
  args.b_zero_point = p.b.zero;
  args.multiplier = p.multiplier;
  args.isa = isa;
  return args;
}

std::string describe_qmatmul(const QmatmulProblem& p, Isa isa) {
  return std::string(isa_name(isa)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         " k=" + std::to_string(p.k) + " a " + (p.a.is_signed ? "s8 " : "u8 ") +
         std::to_string(p.a.zero) + " b " + (p.b.is_signed ? "s8 " : "u8 ") +
         std::to_string(p.b.zero);
}

void check_sums(const QmatmulProblem& p, std::mt19937& random, ParallelFor& parallel) {
  const QmatmulData d = make_qmatmul_data(p, random);
  for (const Isa isa : covered_isas("qmatmul")) {
    SCOPED_TRACE(describe_qmatmul(p, isa));
    Guarded<int32_t> y(p.batch * p.m * p.n);
    QmatmulArgs args = args_of(p, d, isa);
    args.epilogue.type = YType::kInt32;
    args.y = y.data();
    const AlignedBuffer shared = share(args);
    qmatmul(args, parallel);
    ASSERT_TRUE(y.guards_intact());
    for (int64_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], d.sums[static_cast<size_t>(i)]) << "at " << i / p.n << ", " << i % p.n;
    }
  }
}

const Operand8 kOperands[] = {{true, 0},    {true, -128}, {true, 127}, {false, 0},
                              {false, 255}, {false, 128}, {false, 77}};

TEST(Qmatmul, EveryTypeAndZeroPoint) {
  std::mt19937 random(1);
  SerialFor serial;
  for (const Operand8& a : kOperands) {
    for (const Operand8& b : kOperands) {
      for (const Fill how : {Fill::kExtremes, Fill::kUniform}) {
        check_sums({.batch = 2, .m = 5, .n = 35, .k = 67, .a = a, .b = b, .how = how}, random,
                   serial);
        check_sums({.batch = 1, .m = 9, .n = 16, .k = 64, .a = a, .b = b, .how = how}, random,
                   serial);
      }
    }
  }
}

TEST(Qmatmul, AllSizesAroundTheTile) {
  std::mt19937 random(2);
  SerialFor serial;
  for (const int64_t m : {0, 1, 2, 3, 8, 15, 16, 17, 19}) {
    for (const int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 35, 67}) {
      for (const int64_t k : {0, 1, 3, 4, 5, 33, 64}) {
        const Operand8 b{.is_signed = m % 2 == 0, .zero = static_cast<int>(n % 3) * 5};
        check_sums({.batch = 1, .m = m, .n = n, .k = k, .a = {true, 3}, .b = b}, random, serial);
        check_sums({.batch = 1, .m = m, .n = n, .k = k, .a = {false, 0}, .b = b}, random, serial);
      }
    }
  }
}

// All equal and extreme: the largest sums that there are.
TEST(Qmatmul, TheLongestSum) {
  SerialFor serial;
  for (const int a : {0, 255}) {
    for (const int b : {0, 255}) {
      const QmatmulProblem p{.batch = 1,
                             .m = 3,
                             .n = 17,
                             .k = kMaxQmatmulK,
                             .a = {false, 255 - a},
                             .b = {false, 255 - b}};
      const std::vector<uint8_t> xs(static_cast<size_t>(p.m * p.k), static_cast<uint8_t>(a));
      const std::vector<uint8_t> ys(static_cast<size_t>(p.k * p.n), static_cast<uint8_t>(b));
      const int64_t want = int64_t{a == 0 ? -255 : 255} * (b == 0 ? -255 : 255) * p.k;
      const std::vector<int64_t> zero = {0};
      for (const Isa isa : covered_isas("qmatmul")) {
        std::vector<int32_t> y(static_cast<size_t>(p.m * p.n));
        QmatmulArgs args;
        args.batch = 1;
        args.m = p.m;
        args.n = p.n;
        args.k = p.k;
        args.a = xs.data();
        args.b = ys.data();
        args.a_offsets = args.b_offsets = zero.data();
        args.a_signed = args.b_signed = false;
        args.a_zero_point = p.a.zero;
        args.b_zero_point = p.b.zero;
        args.epilogue.type = YType::kInt32;
        args.y = y.data();
        args.isa = isa;
        const AlignedBuffer shared = share(args);
        qmatmul(args, serial);
        for (const int32_t v : y) {
          ASSERT_EQ(v, want) << describe_qmatmul(p, isa);
        }
      }
    }
  }
}

TEST(Qmatmul, BytesAndFloatsOnAnyNumberOfThreads) {
  std::mt19937 random(3);
  for (const float multiplier : {0.25F, 0.5F, 0.0031F}) { // halves, where ties show
    for (const int64_t n : {8, 20, 48}) {
      const QmatmulProblem p{.batch = 6,
                             .m = 21,
                             .n = n,
                             .k = 40,
                             .a = {false, 3},
                             .b = {n != 20, -4},
                             .how = Fill::kBell,
                             .multiplier = multiplier};
      const QmatmulData d = make_qmatmul_data(p, random);
      for (const Isa isa : covered_isas("qmatmul")) {
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(describe_qmatmul(p, isa));
          ThreadPool pool(threads);
          Guarded<float> floats(p.batch * p.m * p.n);
          Guarded<int8_t> bytes(p.batch * p.m * p.n, 1);
          QmatmulArgs args = args_of(p, d, isa);
          args.epilogue.type = YType::kFloat;
          args.y = floats.data();
          const AlignedBuffer shared = share(args);
          qmatmul(args, pool);
          args.epilogue = {.type = YType::kInt8, .zero_point = -3, .lo = -100, .hi = 127};
          args.y = bytes.data();
          qmatmul(args, pool);
          ASSERT_TRUE(floats.guards_intact() && bytes.guards_intact());
          for (int64_t i = 0; i < floats.size(); ++i) {
            const auto sum = static_cast<float>(d.sums[static_cast<size_t>(i)]);
            ASSERT_EQ(floats[i], std::fma(sum, multiplier, 0.0F)) << i;
            const double rounded = std::nearbyint(double{std::fma(sum, multiplier, 0.0F)}) - 3;
            ASSERT_EQ(bytes[i], std::min(127.0, std::max(-100.0, rounded))) << i;
          }
        }
      }
    }
  }
}

} // namespace
} // namespace octet::kernels
