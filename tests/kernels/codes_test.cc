// SPDX-License-Identifier: Apache-2.0
// Kernels over 8-bit codes and pools, on every instruction set, against expressions written here.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "core/numerics/dynamic.h"
#include "core/numerics/round.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/pool.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Fill;
using octet::test::fill;
using octet::test::Guarded;

constexpr int64_t kCounts[] = {0, 1, 7, 8, 9, 15, 16, 17, 35, 1000};

int value_of(uint8_t bits, bool is_signed) {
  return is_signed ? static_cast<int8_t>(bits) : bits;
}

// sat(rne(r) + z), in double where it is exact.
int expect(float r, int z, int lo, int hi) {
  if (std::isnan(r)) return std::clamp(z, lo, hi);
  return static_cast<int>(std::clamp(std::nearbyint(double{r}) + z, double(lo), double(hi)));
}

TEST(Codes, LookupOfEveryCode) {
  SerialFor serial;
  uint8_t table[256];
  for (int i = 0; i < 256; ++i) {
    table[i] = static_cast<uint8_t>(i * 7 + 3);
  }
  for (const Isa isa : covered_isas("lookup")) {
    for (const int64_t count : {0, 1, 31, 32, 33, 63, 64, 65, 127, 768}) {
      for (const int64_t shift : {1, 3}) {
        Guarded<uint8_t> x(count, shift);
        Guarded<uint8_t> y(count, 4 - shift);
        for (int64_t i = 0; i < x.size(); ++i) {
          x[i] = static_cast<uint8_t>(i * 5);
        }
        lookup(table, x.data(), x.size(), y.data(), isa, serial);
        EXPECT_TRUE(y.guards_intact());
        for (int64_t i = 0; i < x.size(); ++i) {
          ASSERT_EQ(y[i], table[x[i]]) << isa_name(isa) << " " << count;
        }
      }
    }
  }
}

TEST(Codes, QuantizeTiesOddZeroPointsAndSpecialValues) {
  SerialFor serial;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, 40.0F);
  const float inf = std::numeric_limits<float>::infinity();
  const float special[] = {0.5F,          1.5F,  2.5F,  -0.5F,  -2.5F,  inf,    -inf,
                           std::nanf(""), 1e30F, -0.0F, 126.5F, 127.5F, -128.5F};
  for (const Isa isa : covered_isas("quantize")) {
    for (const int64_t count : kCounts) {
      for (const bool is_signed : {true, false}) {
        for (const float scale : {1.0F, 0.37F, 1e-39F}) {
          Guarded<float> x(count, 1);
          Guarded<uint8_t> y(count, 1);
          for (int64_t i = 0; i < count; ++i) {
            x[i] = i % 3 == 0 ? special[static_cast<size_t>(i / 3) % std::size(special)]
                              : normal(random);
          }
          QuantizeArgs args{x.data(),
                            count,
                            scale,
                            is_signed ? -3 : 131,
                            is_signed ? -128 : 0,
                            is_signed ? 127 : 255,
                            is_signed,
                            y.data()};
          quantize(args, isa, serial);
          ASSERT_TRUE(y.guards_intact());
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(value_of(y[i], is_signed),
                      expect(x[i] / scale, args.zero_point, args.lo, args.hi))
                << isa_name(isa) << " " << x[i];
          }
          // And back: an exact difference times the scale.
          Guarded<float> back(count, 1);
          dequantize({y.data(), count, is_signed, scale, args.zero_point, back.data()}, isa,
                     serial);
          ASSERT_TRUE(back.guards_intact());
          for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(back[i],
                      static_cast<float>(value_of(y[i], is_signed) - args.zero_point) * scale);
          }
        }
      }
    }
  }
}

// Around the middle between any two codes one float more or less decides, and a product with the
// reciprocal of a scale may be on the wrong side of it.
TEST(Codes, QuantizeBesideEveryMiddle) {
  SerialFor serial;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-65.0F, 65.0F);
  std::vector<float> scales = {0x1p-60F,  std::nextafter(0x1p-60F, 0.0F),
                               0x1p60F,   std::nextafter(0x1p60F, 0x1p61F),
                               0x1p-126F, 0x1p127F};
  while (scales.size() < 40)
    scales.push_back(std::exp2(exponent(random)));
  while (scales.size() < 80)
    scales.push_back(std::exp2(exponent(random) / 16));
  for (const float scale : scales) {
    std::vector<float> x;
    for (int code = -257; code <= 256; ++code) {
      const float middle = (static_cast<float>(code) + 0.5F) * scale;
      const float away = code < 0 ? -std::numeric_limits<float>::infinity()
                                  : std::numeric_limits<float>::infinity();
      float near = middle, far = middle;
      for (int step = 0; step < 4; ++step) {
        x.insert(x.end(), {near, far});
        near = std::nextafter(near, 0.0F);
        far = std::nextafter(far, away);
      }
      x.push_back(middle + 0.001F * scale);
    }
    for (const Isa isa : covered_isas("quantize")) {
      for (const int zero_point : {0, 255}) {
        std::vector<uint8_t> y(x.size());
        quantize({x.data(), std::ssize(x), scale, zero_point, 0, 255, false, y.data()}, isa,
                 serial);
        for (size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(y[i], expect(x[i] / scale, zero_point, 0, 255))
              << isa_name(isa) << " " << x[i] << " / " << scale;
      }
    }
  }
}

TEST(Codes, DynamicQuantizeTakesTheRangeOfTheWholeTensor) {
  ThreadPool pool(3);
  std::mt19937 random(2);
  for (const auto& [mean, spread] : {std::pair{0.0F, 3.0F}, {8.0F, 1.0F}, {-8.0F, 1.0F}, {0, 0}}) {
    std::normal_distribution<float> normal(mean, std::max(spread, 1e-3F));
    for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 35, 1000, 100003}) {
      Guarded<float> x(count, 1);
      for (int64_t i = 0; i < count; ++i) {
        x[i] = spread == 0.0F ? 0.0F : i % 41 == 40 ? std::nanf("") : normal(random);
      }
      float lo = 0.0F;
      float hi = 0.0F;
      for (int64_t i = 0; i < count; ++i) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
      }
      const float want_scale = lo == hi ? 1.0F : (hi - lo) / 255.0F;
      const int want_zero = expect(-lo / want_scale, 0, 0, 255);
      for (const Isa isa : covered_isas("dynamic quantize")) {
        Guarded<uint8_t> y(count, 3);
        float scale = 0.0F;
        uint8_t zero = 0;
        dynamic_quantize(x.data(), count, y.data(), &scale, &zero, isa, pool);
        ASSERT_TRUE(y.guards_intact());
        ASSERT_EQ(scale, want_scale) << isa_name(isa) << " " << count;
        ASSERT_EQ(zero, want_zero) << isa_name(isa) << " " << count;
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(y[i], expect(x[i] / want_scale, want_zero, 0, 255))
              << isa_name(isa) << " " << i;
        }
      }
    }
  }
}

TEST(Codes, RowsAreQuantizedByScalesOfTheirOwn) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  ThreadPool pool(2);
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  for (const int64_t length : {1, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 200, 768}) {
    constexpr int64_t kRows = 9;
    std::vector<float> x(static_cast<size_t>(kRows * length));
    for (float& v : x)
      v = normal(random);
    // Rows of nothing, of NaN beside numbers, of NaN alone, of infinity and of the least numbers;
    // the largest magnitude is negative, first or last in others.
    std::fill_n(x.begin() + length, length, -0.0F);
    x[static_cast<size_t>(2 * length)] = NAN;
    std::fill_n(x.begin() + 3 * length, length, NAN);
    x[static_cast<size_t>(5 * length - 1)] = kInf;
    std::fill_n(x.begin() + 5 * length, length, -1e-40F);
    x[static_cast<size_t>(7 * length - 1)] = -100.0F;
    x[static_cast<size_t>(7 * length)] = -101.0F;
    std::vector<int8_t> want(x.size());
    std::vector<float> scales(kRows);
    for (size_t r = 0; r < kRows; ++r) {
      const auto row =
          std::span(x).subspan(r * static_cast<size_t>(length), static_cast<size_t>(length));
      scales[r] = numerics::row_scale(row);
      for (size_t i = 0; i < row.size(); ++i)
        want[r * row.size() + i] =
            static_cast<int8_t>(numerics::quantize(row[i], scales[r], 0, -128, 127));
    }
    for (const Isa isa : covered_isas("quantize rows")) {
      Guarded<int8_t> y(kRows * length, 1);
      Guarded<float> s(kRows);
      quantize_rows(
          {.x = x.data(), .rows = kRows, .length = length, .y = y.data(), .scales = s.data()}, isa,
          pool);
      for (int64_t r = 0; r < kRows; ++r)
        ASSERT_EQ(s[r], scales[static_cast<size_t>(r)]) << isa_name(isa) << ' ' << length;
      for (int64_t i = 0; i < kRows * length; ++i)
        ASSERT_EQ(y[i], want[static_cast<size_t>(i)]) << isa_name(isa) << ' ' << length << ' ' << i;
      EXPECT_TRUE(y.guards_intact() && s.guards_intact());
    }
  }
}

TEST(Codes, AddOfEveryPairOfCodes) {
  SerialFor serial;
  Guarded<uint8_t> a(65536);
  Guarded<uint8_t> b(65536);
  for (int64_t i = 0; i < 65536; ++i) {
    a[i] = static_cast<uint8_t>(i);
    b[i] = static_cast<uint8_t>(i / 256);
  }
  for (const Isa isa : covered_isas("add codes")) {
    for (const bool mixed : {false, true}) {
      for (const int64_t count : {65536, 65521, 9}) {
        Guarded<uint8_t> y(count, 1);
        AddCodesArgs args;
        args.a = a.data();
        args.b = b.data();
        args.b_signed = !mixed;
        args.y_signed = !mixed;
        args.a_zero_point = 5;
        args.b_zero_point = mixed ? 120 : -9;
        args.a_multiplier = 0.73F;
        args.b_multiplier = 1.21F;
        args.zero_point = mixed ? 128 : 1;
        args.lo = mixed ? 0 : -128;
        args.hi = mixed ? 255 : 127;
        args.y = y.data();
        const std::vector<std::vector<int64_t>> shapes(2, {count});
        add_codes(args, plan_broadcast(shapes, shapes[0]), isa, serial);
        ASSERT_TRUE(y.guards_intact());
        for (int64_t i = 0; i < count; ++i) {
          float r = static_cast<float>(value_of(a[i], true) - 5) * 0.73F;
          r = std::fma(static_cast<float>(value_of(b[i], !mixed) - args.b_zero_point), 1.21F, r);
          ASSERT_EQ(value_of(y[i], !mixed), expect(r, args.zero_point, args.lo, args.hi))
              << isa_name(isa) << " " << i;
        }
      }
    }
  }
}

TEST(Codes, AddRepeatsOperands) {
  ThreadPool pool(2);
  std::mt19937 random(6);
  Guarded<uint8_t> a(15, 1);
  Guarded<uint8_t> b(37, 3);
  fill(a.data(), a.size(), 0, 255, Fill::kUniform, random);
  fill(b.data(), b.size(), 0, 255, Fill::kUniform, random);
  const std::vector<std::vector<int64_t>> shapes = {{3, 5, 1}, {37}};
  for (const Isa isa : covered_isas("add codes")) {
    for (const bool swapped : {false, true}) {
      Guarded<uint8_t> y(int64_t{15} * 37, 1);
      AddCodesArgs args;
      args.a = swapped ? b.data() : a.data();
      args.b = swapped ? a.data() : b.data();
      args.a_signed = !swapped;
      args.b_signed = swapped;
      args.y = y.data();
      const auto order = swapped ? std::vector{shapes[1], shapes[0]} : shapes;
      add_codes(args, plan_broadcast(order, std::vector<int64_t>{3, 5, 37}), isa, pool);
      ASSERT_TRUE(y.guards_intact());
      for (int64_t i = 0; i < y.size(); ++i) {
        const int sum = value_of(a[i / 37], true) + value_of(b[i % 37], false);
        ASSERT_EQ(value_of(y[i], true), expect(static_cast<float>(sum), 0, -128, 127))
            << isa_name(isa) << " " << i;
      }
    }
  }
}

ConvShape window(int64_t channels, int64_t size, int64_t kernel, int64_t stride, int64_t pad) {
  ConvShape s;
  s.batch = 2;
  s.in_h = s.in_w = size;
  s.in_c = s.out_c = channels;
  s.kernel_h = s.kernel_w = kernel;
  s.stride_h = s.stride_w = stride;
  s.pad_top = s.pad_left = pad;
  s.out_h = s.out_w = (size + 2 * pad - kernel) / stride + 1;
  return s;
}

// Offsets of the taps of an output value, in order.
std::vector<int64_t> taps_of(const ConvShape& s, int64_t at) {
  const int64_t c = at % s.in_c;
  const int64_t ox = at / s.in_c % s.out_w;
  const int64_t oy = at / s.in_c / s.out_w % s.out_h;
  const int64_t image = at / s.in_c / s.out_w / s.out_h;
  std::vector<int64_t> taps;
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t y = oy * s.stride_h + i - s.pad_top;
      const int64_t x = ox * s.stride_w + j - s.pad_left;
      if (y < 0 || x < 0 || y >= s.in_h || x >= s.in_w) continue;
      taps.push_back(((image * s.in_h + y) * s.in_w + x) * s.in_c + c);
    }
  }
  return taps;
}

const ConvShape kWindows[] = {window(64, 6, 3, 2, 0),  window(1, 5, 2, 1, 0),
                              window(7, 7, 3, 2, 1),   window(17, 4, 4, 4, 0),
                              window(35, 9, 3, 1, 1),  window(147, 5, 3, 2, 1),
                              window(33, 12, 12, 1, 0)}; // more taps than fit in 16 bits

TEST(Pool, Bytes) {
  std::mt19937 random(3);
  ThreadPool pool(2);
  for (const ConvShape& s : kWindows) {
    for (const bool is_signed : {true, false}) {
      Guarded<uint8_t> x(s.batch * s.in_h * s.in_w * s.in_c, 1);
      fill(x.data(), x.size(), 0, 255, Fill::kUniform, random);
      for (const Isa isa : covered_isas("pool of codes")) {
        for (const CountPadding padding : {CountPadding::kNo, CountPadding::kYes}) {
          Guarded<uint8_t> largest(s.pixels() * s.in_c, 1);
          Guarded<uint8_t> mean(s.pixels() * s.in_c, 1);
          PoolArgs args;
          args.shape = s;
          args.type = is_signed ? PoolType::kInt8 : PoolType::kUint8;
          args.x = x.data();
          args.y = largest.data();
          run_pool(args, isa, pool);
          args.y = mean.data();
          args.count_padding = padding;
          args.padded_h = s.in_h + s.pad_top;
          args.padded_w = s.in_w + s.pad_left;
          args.x_scale = 0.5;
          args.y_scale = 0.3;
          args.x_zero_point = 3;
          args.zero_point = is_signed ? -2 : 100;
          args.lo = is_signed ? -128 : 0;
          args.hi = is_signed ? 127 : 255;
          args.y_signed = is_signed;
          args.op = PoolOp::kAverage;
          run_pool(args, isa, pool);
          ASSERT_TRUE(largest.guards_intact() && mean.guards_intact());
          for (int64_t i = 0; i < mean.size(); ++i) {
            int best = -1000;
            int sum = 0;
            const std::vector<int64_t> taps = taps_of(s, i);
            for (const int64_t t : taps) {
              best = std::max(best, value_of(x[t], is_signed));
              sum += value_of(x[t], is_signed) - 3;
            }
            const auto n = static_cast<double>(padding == CountPadding::kYes
                                                   ? s.kernel_h * s.kernel_w
                                                   : static_cast<int64_t>(taps.size()));
            const float r = static_cast<float>(sum) * static_cast<float>(0.5 / (n * 0.3));
            ASSERT_EQ(value_of(largest[i], is_signed), best) << isa_name(isa);
            ASSERT_EQ(value_of(mean[i], is_signed), expect(r, args.zero_point, args.lo, args.hi))
                << isa_name(isa);
          }
        }
      }
    }
  }
}

TEST(Pool, Floats) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  SerialFor serial;
  for (const ConvShape& s : kWindows) {
    Guarded<float> x(s.batch * s.in_h * s.in_w * s.in_c, 1);
    for (int64_t i = 0; i < x.size(); ++i) {
      x[i] = i % 50 == 49 ? std::nanf("") : normal(random);
    }
    for (const Isa isa : covered_isas("pool of floats")) {
      Guarded<float> largest(s.pixels() * s.in_c, 1);
      Guarded<float> mean(s.pixels() * s.in_c, 1);
      PoolArgs args;
      args.shape = s;
      args.x = x.data();
      args.y = largest.data();
      run_pool(args, isa, serial);
      args.y = mean.data();
      args.op = PoolOp::kAverage;
      run_pool(args, isa, serial);
      ASSERT_TRUE(largest.guards_intact() && mean.guards_intact());
      for (int64_t i = 0; i < mean.size(); ++i) {
        float best = -std::numeric_limits<float>::infinity();
        float sum = 0.0F;
        bool any_nan = false;
        const std::vector<int64_t> taps = taps_of(s, i);
        for (const int64_t t : taps) {
          best = std::max(best, x[t]);
          sum += x[t];
          any_nan = any_nan || std::isnan(x[t]);
        }
        if (any_nan) {
          ASSERT_TRUE(std::isnan(largest[i])) << isa_name(isa) << " " << i;
          ASSERT_TRUE(std::isnan(mean[i])) << isa_name(isa) << " " << i;
        } else {
          ASSERT_EQ(largest[i], best);
          ASSERT_EQ(mean[i], sum / static_cast<float>(taps.size()));
        }
      }
    }
  }
}

} // namespace
} // namespace octet::kernels
