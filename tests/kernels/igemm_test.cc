// SPDX-License-Identifier: Apache-2.0
// int8 product on every instruction set against plain loops in 64 bits, with the epilogues written
// out independently of core/numerics. Bit-exact.
#include <algorithm>
#include <cfenv>
#include <cmath>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/igemm.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Fill;
using octet::test::fill;
using octet::test::Guarded;
using octet::test::share;

struct Problem {
  int64_t m, n, k;
  XRange x{};
  int32_t x_zero = 0;
  int w_lo = -127;
  int w_hi = 127;
  Fill how = Fill::kUniform;
  size_t misalign = 0;
  int64_t extra_stride = 0;
};

std::string describe(const Problem& p, Isa isa) {
  return std::string(isa_name(isa)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         " k=" + std::to_string(p.k) + " x=[" + std::to_string(p.x.lo) + "," +
         std::to_string(p.x.hi) + "] z=" + std::to_string(p.x_zero) + " w=[" +
         std::to_string(p.w_lo) + "," + std::to_string(p.w_hi) + "]";
}

struct Data {
  Guarded<uint8_t> x;
  std::vector<int8_t> w;
  std::vector<int64_t> sums;
  int64_t x_stride;
};

Data make_data(const Problem& p, std::mt19937& random) {
  const int64_t stride = p.k + p.extra_stride;
  const int64_t x_count = p.m == 0 ? 0 : (p.m - 1) * stride + p.k;
  Data d{Guarded<uint8_t>(x_count, p.misalign), std::vector<int8_t>(static_cast<size_t>(p.n * p.k)),
         std::vector<int64_t>(static_cast<size_t>(p.m * p.n)), stride};
  fill(d.x.data(), x_count, p.x.lo, p.x.hi, p.how, random);
  fill(d.w.data(), p.n * p.k, p.w_lo, p.w_hi, p.how, random);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      int64_t sum = 0;
      for (int64_t q = 0; q < p.k; ++q) {
        const uint8_t raw = d.x[i * stride + q];
        const int value = p.x.is_signed ? static_cast<int8_t>(raw) : raw;
        sum += int64_t{value - p.x_zero} * d.w[static_cast<size_t>(j * p.k + q)];
      }
      d.sums[static_cast<size_t>(i * p.n + j)] = sum;
    }
  }
  return d;
}

void check_raw(const Problem& p, std::mt19937& random, ParallelFor& parallel) {
  const Data d = make_data(p, random);
  for (const Isa isa : covered_isas("igemm")) {
    SCOPED_TRACE(describe(p, isa));
    const PackedWeights w = pack_weights(d.w.data(), p.k, p.n, p.k, p.x, isa);
    const IgemmColumns columns = make_columns(w, {.x_zero_point = p.x_zero});
    Guarded<int32_t> y(p.m * p.n, p.misalign);
    IgemmArgs args;
    args.m = p.m;
    args.x = d.x.data();
    args.x_stride = d.x_stride;
    args.w = &w;
    args.columns = &columns;
    args.epilogue.type = YType::kInt32;
    args.y = y.data();
    args.y_stride = p.n;
    const AlignedBuffer shared = share(args);
    igemm(args, parallel);
    ASSERT_TRUE(y.guards_intact());
    for (int64_t i = 0; i < p.m * p.n; ++i) {
      ASSERT_EQ(y[i], d.sums[static_cast<size_t>(i)]) << "at " << i / p.n << ", " << i % p.n;
    }
  }
}

constexpr XRange kS8{.is_signed = true, .lo = -128, .hi = 127};
constexpr XRange kRelu{.is_signed = true, .lo = 0, .hi = 127};
constexpr XRange kU8{.is_signed = false, .lo = 0, .hi = 255};
// As GELU and SiLU make them, and none that is positive.
constexpr XRange kTilted{.is_signed = true, .lo = -9, .hi = 127};
constexpr XRange kNegative{.is_signed = true, .lo = -128, .hi = -3};

TEST(Igemm, ExtremesNeverSaturate) {
  std::mt19937 random(1);
  SerialFor serial;
  for (const XRange x : {kS8, kRelu, kU8, kTilted, kNegative}) {
    for (const Fill how : {Fill::kExtremes, Fill::kUniform}) {
      for (const auto& [lo, hi] :
           {std::pair{-127, 127}, {-128, 127}, {-128, -128}, {127, 127}, {-127, -127}}) {
        for (const int64_t k : {1, 2, 3, 4, 5, 64, 67}) {
          check_raw({.m = 5, .n = 17, .k = k, .x = x, .w_lo = lo, .w_hi = hi, .how = how}, random,
                    serial);
        }
      }
    }
  }
}

TEST(Igemm, AllSizesAroundTheTile) {
  std::mt19937 random(2);
  SerialFor serial;
  for (const int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 19}) {
    for (const int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 35, 56, 64, 67, 88}) {
      for (const int64_t k : {0, 1, 3, 4, 5, 31, 32, 33, 67}) {
        check_raw({.m = m, .n = n, .k = k, .x = kS8, .x_zero = 3, .how = Fill::kBell}, random,
                  serial);
        check_raw({.m = m, .n = n, .k = k, .x = kTilted, .x_zero = -2, .how = Fill::kBell}, random,
                  serial);
        check_raw({.m = m,
                   .n = n,
                   .k = k,
                   .x = kRelu,
                   .how = Fill::kBell,
                   .misalign = 1,
                   .extra_stride = 3},
                  random, serial);
      }
    }
  }
}

// Where products are of matrices: rows that are read where they lie beside those that are gathered,
// sums that end within a line, panels whose last groups end the weights, several blocks of rows.
TEST(Igemm, AllSizesAroundMatrices) {
  std::mt19937 random(11);
  SerialFor serial;
  for (const int64_t m : {7, 8, 16, 17, 31, 32, 33, 47, 64, 65, 130}) {
    for (const int64_t n : {1, 8, 16, 17, 32, 48, 67}) {
      for (const int64_t k : {4, 60, 64, 65, 68, 128, 196, 320}) {
        for (const XRange x : {kS8, kU8}) {
          const Problem p{.m = m, .n = n, .k = k, .x = x, .x_zero = 5, .how = Fill::kExtremes};
          check_raw(p, random, serial);
        }
      }
    }
    Problem apart{.m = m, .n = 40, .k = 192, .x = kS8, .x_zero = -3, .extra_stride = 7};
    apart.misalign = 1;
    check_raw(apart, random, serial);
  }
  for (const int64_t k : {8256, 8260})
    check_raw({.m = 70, .n = 33, .k = k, .x = kS8, .how = Fill::kExtremes}, random, serial);
}

TEST(Igemm, ZeroPointsStridesAndLargeShapes) {
  std::mt19937 random(3);
  ThreadPool pool(3);
  for (const int zero : {-128, -7, 0, 127}) {
    check_raw(
        {.m = 13, .n = 40, .k = 129, .x = kS8, .x_zero = zero, .misalign = 1, .extra_stride = 5},
        random, pool);
  }
  for (const int zero : {0, 128, 255}) {
    check_raw({.m = 13, .n = 40, .k = 129, .x = kU8, .x_zero = zero, .misalign = 3}, random, pool);
  }
  check_raw({.m = 200, .n = 530, .k = 260, .x = kS8, .how = Fill::kBell}, random, pool);
  check_raw({.m = 3, .n = 1100, .k = 2050, .x = kU8, .x_zero = 117, .how = Fill::kBell}, random,
            pool);
  check_raw({.m = 150, .n = 20, .k = 4099, .x = kRelu, .how = Fill::kBell}, random, pool);
}

/// Which share of the groups of weights in a bell curve is coupled, and which is flipped, and flipped alone.
struct GroupShares {
  double coupled = 0, flipped = 0, alone = 0;
  bool split = false;
};

GroupShares shares(XRange x, int64_t k, Isa isa) {
  constexpr int64_t kN = 64;
  std::mt19937 random(5);
  std::vector<int8_t> w(static_cast<size_t>(kN * k));
  fill(w.data(), kN * k, -127, 127, Fill::kBell, random);
  const PackedWeights packed = pack_weights(w.data(), k, kN, k, x, isa);
  GroupShares out;
  double all = 0;
  for (int64_t p = 0; p < panel_count(packed); ++p) {
    const PackedPanel& panel = packed.panels.as<PackedPanel>()[p];
    out.split = panel.split;
    for (const PackedGroups& groups : {panel.groups, panel.right}) {
      all += static_cast<double>(groups.count());
      out.coupled += groups.paired;
      out.flipped += static_cast<double>(groups.all_flipped());
      out.alone += groups.flipped;
    }
  }
  out.coupled /= all;
  out.flipped /= all;
  out.alone /= all;
  return out;
}

// Where sums are proven to stay within 16 bits, groups of weights come in couples, which take fewer
// instructions; flipped ones take more, alone the most.
TEST(Igemm, GroupsFindPartners) {
  for (const Isa isa : covered_isas("igemm")) {
    if (!multiplies_in_int16(isa)) continue;
    for (const XRange x : {kS8, kU8}) {
      const GroupShares found = shares(x, 768, isa);
      EXPECT_GT(found.coupled, 0.4) << isa_name(isa);
      // Groups of sixteen columns have twice the sums that a couple must keep small.
      EXPECT_LT(found.flipped, tile_kernels(isa).splits ? 0.3 : 0.45) << isa_name(isa);
      EXPECT_LT(found.alone, 0.05) << isa_name(isa);
    }
    for (const XRange x : {kRelu, kTilted}) {
      const GroupShares found = shares(x, 768, isa);
      EXPECT_GT(found.coupled, 0.98) << isa_name(isa);
      EXPECT_EQ(found.flipped, 0.0) << isa_name(isa);
      EXPECT_FALSE(found.split) << isa_name(isa);
    }
  }
}

// The fewer columns have to agree, the more of their groups do.
TEST(Igemm, HalvesOfPanelsFindMorePartners) {
  for (const Isa isa : covered_isas("igemm")) {
    if (!tile_kernels(isa).splits) continue;
    const GroupShares found = shares(kS8, 256, isa);
    EXPECT_TRUE(found.split) << isa_name(isa);
    EXPECT_GT(found.coupled, 0.4) << isa_name(isa);
    EXPECT_LT(found.flipped, 0.3) << isa_name(isa);
    EXPECT_LT(found.alone, 0.05) << isa_name(isa);
  }
}

// The epilogue written with nearbyint and doubles where they are exact.
int32_t expect_byte(float r, int z, int lo, int hi) {
  if (std::isnan(r)) return std::clamp(z, lo, hi);
  const double v = std::nearbyint(static_cast<double>(r)) + z;
  return static_cast<int32_t>(std::clamp(v, static_cast<double>(lo), static_cast<double>(hi)));
}

struct EpilogueCase {
  YType type = YType::kInt8;
  int z = 0;
  int lo = -128;
  int hi = 127;
  bool residual = false;
  bool residual_signed = true;
  int residual_zero = 0;
  bool int_bias = false;
  bool row_scale = false;
  float float_lo = -std::numeric_limits<float>::infinity();
  float float_hi = std::numeric_limits<float>::infinity();
  bool bounded = false; ///< scales that keep every sum within int32
  int64_t extra_stride = 0;
};

struct Scales {
  std::vector<float> m;
  std::vector<float> b;
  std::vector<int32_t> int_bias;
  std::vector<float> row;
};

Scales make_scales(const Problem& p, bool bounded, std::mt19937& random) {
  std::uniform_real_distribution<float> unit(-1.0F, 1.0F);
  const auto n = static_cast<size_t>(p.n);
  Scales s{std::vector<float>(n), std::vector<float>(n), std::vector<int32_t>(n),
           std::vector<float>(static_cast<size_t>(p.m))};
  for (size_t j = 0; j < n; ++j) {
    s.m[j] = 0.0005F + 0.004F * std::abs(unit(random));
    s.b[j] = 20.0F * unit(random);
    s.int_bias[j] = static_cast<int32_t>(1000.0F * unit(random));
  }
  // Exact halves, where rounding half to even shows, and values that are no numbers.
  s.m[0] = bounded ? 0.25F : 0.5F;
  s.b[0] = 0.0F;
  if (bounded) {
    // The largest that are, of codes of any sign and weights with excess.
    const double sum = std::min(static_cast<double>(p.k) * 255 * 256 + 1000, 0x1p31);
    const float most = std::nextafter(static_cast<float>(0x1p29 / sum), 0.0F);
    for (size_t j = 1; j < n; j += 3) {
      s.m[j] = j % 2 == 0 ? 0.125F : -0.25F;
      s.b[j] = std::nearbyint(s.b[j]);
      if (j + 1 < n) s.m[j + 1] = j % 2 == 0 ? most : -most;
    }
  } else {
    s.b[n > 3 ? 1 : 0] = std::numeric_limits<float>::quiet_NaN();
    if (n > 3) s.b[2] = std::numeric_limits<float>::infinity();
    if (n > 3) s.b[3] = -std::numeric_limits<float>::infinity();
  }
  for (float& v : s.row) {
    v = std::abs(unit(random));
  }
  return s;
}

void check_epilogue(const Problem& p, const EpilogueCase& c, std::mt19937& random) {
  const Data d = make_data(p, random);
  const auto [m, b, int_bias, row] = make_scales(p, c.bounded, random);
  const int64_t stride = p.n + c.extra_stride;
  Guarded<uint8_t> res(p.m * p.n);
  fill(res.data(), res.size(), 0, 255, Fill::kUniform, random);

  for (const Isa isa : covered_isas("igemm epilogue")) {
    SCOPED_TRACE(describe(p, isa));
    const PackedWeights w = pack_weights(d.w.data(), p.k, p.n, p.k, p.x, isa);
    const IgemmColumns columns =
        make_columns(w, {.x_zero_point = p.x_zero,
                         .bias_i32 = c.int_bias ? int_bias.data() : nullptr,
                         .multiplier = m.data(),
                         .multiplier_count = p.n,
                         .bias = b.data()});
    ASSERT_EQ(columns.bounded, c.bounded);
    const int64_t width = c.type == YType::kFloat ? 4 : 1;
    const int64_t count = (p.m - 1) * stride + p.n;
    Guarded<uint8_t> y(count * width, c.type == YType::kFloat ? 0 : 1);
    std::fill_n(y.data(), count * width, uint8_t{0x5A});
    IgemmArgs args;
    args.m = p.m;
    args.x = d.x.data();
    args.x_stride = d.x_stride;
    args.w = &w;
    args.columns = &columns;
    args.epilogue = {.type = c.type,
                     .zero_point = c.z,
                     .lo = c.lo,
                     .hi = c.hi,
                     .float_lo = c.float_lo,
                     .float_hi = c.float_hi,
                     .residual = c.residual ? res.data() : nullptr,
                     .residual_stride = p.n,
                     .residual_signed = c.residual_signed,
                     .residual_zero_point = c.residual_zero,
                     .residual_multiplier = 0.37F,
                     .row_multiplier = c.row_scale ? row.data() : nullptr};
    args.y = y.data();
    args.y_stride = stride;
    SerialFor serial;
    const AlignedBuffer shared = share(args);
    igemm(args, serial);
    ASSERT_TRUE(y.guards_intact());
    for (int64_t i = 0; i < count; ++i) {
      if (i % stride >= p.n) {
        ASSERT_EQ(y[i * width], 0x5A) << "between rows, at " << i;
      }
    }
    for (int64_t i = 0; i < p.m * p.n; ++i) {
      const auto j = static_cast<size_t>(i % p.n);
      const int64_t at = i / p.n * stride + i % p.n;
      const int64_t acc = d.sums[static_cast<size_t>(i)] + (c.int_bias ? int_bias[j] : 0);
      const float mult = c.row_scale ? row[static_cast<size_t>(i / p.n)] * m[j] : m[j];
      float r = std::fma(static_cast<float>(acc), mult, b[j]);
      if (c.type == YType::kFloat) {
        float got = 0.0F;
        std::memcpy(&got, y.data() + at * 4, 4);
        if (std::isnan(r)) {
          ASSERT_TRUE(std::isnan(got));
        } else {
          ASSERT_EQ(got, std::min(std::max(r, c.float_lo), c.float_hi)) << i;
        }
        continue;
      }
      if (c.residual) {
        const int value = c.residual_signed ? static_cast<int8_t>(res[i]) : res[i];
        r = std::fma(static_cast<float>(value - c.residual_zero), 0.37F, r);
      }
      const int32_t want = expect_byte(r, c.z, c.lo, c.hi);
      const int32_t got = c.type == YType::kInt8 ? static_cast<int8_t>(y[at]) : y[at];
      ASSERT_EQ(got, want) << "at " << i / p.n << ", " << j << " r=" << r;
    }
  }
}

TEST(Igemm, EveryEpilogue) {
  std::mt19937 random(4);
  const EpilogueCase cases[] = {
      {},
      {.z = -7},
      {.z = 5, .lo = 5, .hi = 100},
      {.type = YType::kUint8, .z = 128, .lo = 0, .hi = 255},
      {.type = YType::kUint8, .z = 3, .lo = 3, .hi = 255, .int_bias = true},
      {.z = 1, .residual = true, .residual_zero = -4},
      {.z = 1, .residual = true, .residual_signed = false, .residual_zero = 130, .int_bias = true},
      {.type = YType::kFloat},
      {.type = YType::kFloat, .row_scale = true},
      {.type = YType::kFloat, .int_bias = true, .float_lo = 0.0F, .float_hi = 6.0F},
      {.bounded = true},
      {.z = -7, .lo = -7, .hi = 90, .int_bias = true, .bounded = true},
      {.z = 127, .bounded = true},
      {.type = YType::kUint8, .z = 128, .lo = 0, .hi = 255, .bounded = true},
      {.type = YType::kUint8, .z = 0, .lo = 0, .hi = 255, .int_bias = true, .bounded = true},
      {.z = 1, .residual = true, .residual_zero = -4, .bounded = true},
      {.type = YType::kFloat, .row_scale = true, .bounded = true},
  };
  for (EpilogueCase c : cases) {
    for (const int64_t n : {1, 5, 8, 16, 21, 24, 40, 48, 66}) {
      for (const int64_t m : {1, 2, 3, 6, 8, 13, 17, 50}) {
        c.extra_stride = m % 3 * 5;
        check_epilogue({.m = m, .n = n, .k = 70, .x = kS8, .x_zero = 2}, c, random);
      }
    }
  }
}

// Sums far outside of 16 bits, and outside of the 24 that a float holds.
TEST(Igemm, LargeSumsSaturate) {
  std::mt19937 random(6);
  for (const bool bounded : {false, true}) {
    for (const YType type : {YType::kInt8, YType::kUint8, YType::kFloat}) {
      EpilogueCase c{.type = type, .z = 100, .int_bias = true, .bounded = bounded};
      if (type == YType::kUint8) c.lo = 0, c.hi = 255;
      for (const int64_t n : {8, 17, 32}) {
        check_epilogue({.m = 9,
                        .n = n,
                        .k = 4001,
                        .x = kU8,
                        .w_lo = -127,
                        .w_hi = 127,
                        .how = Fill::kExtremes},
                       c, random);
        check_epilogue({.m = 9, .n = n, .k = 4001, .x = kU8, .w_lo = 120}, c, random);
      }
    }
  }
}

TEST(Igemm, BitsDoNotDependOnThreadsOrBatchSplit) {
  std::mt19937 random(5);
  const Problem p{.m = 70, .n = 600, .k = 300, .x = kS8, .x_zero = 1, .how = Fill::kBell};
  const Data d = make_data(p, random);
  for (const Isa isa : covered_isas("igemm")) {
    const PackedWeights w = pack_weights(d.w.data(), p.k, p.n, p.k, p.x, isa);
    const float multiplier = 0.001F;
    const IgemmColumns columns = make_columns(
        w, {.x_zero_point = p.x_zero, .multiplier = &multiplier, .multiplier_count = 1});
    const auto run = [&](int threads, int64_t split) {
      ThreadPool pool(threads);
      Guarded<int8_t> y(p.m * p.n);
      for (int64_t row = 0; row < p.m; row += split) {
        IgemmArgs args;
        args.m = std::min(split, p.m - row);
        args.x = d.x.data() + row * d.x_stride;
        args.x_stride = d.x_stride;
        args.w = &w;
        args.columns = &columns;
        args.y = y.data() + row * p.n;
        args.y_stride = p.n;
        const AlignedBuffer shared = share(args);
        igemm(args, pool);
      }
      return y;
    };
    const Guarded<int8_t> one = run(1, p.m);
    for (const int threads : {1, 2, 3}) {
      for (const int64_t split : {1, 7, 64}) {
        EXPECT_TRUE(run(threads, split) == one) << isa_name(isa);
      }
    }
  }
}

} // namespace
} // namespace octet::kernels
