// SPDX-License-Identifier: Apache-2.0
// Codecs against the published parameters of each format: every code is decoded by the formula
// sign * 2^(exponent - bias) * 1.mantissa written out here, and encoding is compared with a search
// for the nearest value over all codes.
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/codec.h"
#include "core/convert.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The rows of the table in NUMERICS, "Formats", and of OCP MX 1.0 for the narrow ones.
struct Published {
  const FloatFormat* format;
  int exponent_bits, mantissa_bits, bias;
  double max_finite, min_normal, min_subnormal;
  int infinities, nans; ///< how many codes
};

const Published kPublished[] = {
    {&kE4M3FN, 4, 3, 7, 448, 0x1p-6, 0x1p-9, 0, 2},
    {&kE4M3FNUZ, 4, 3, 8, 240, 0x1p-7, 0x1p-10, 0, 1},
    {&kE4M3IEEE, 4, 3, 7, 240, 0x1p-6, 0x1p-9, 2, 14},
    {&kE5M2, 5, 2, 15, 57344, 0x1p-14, 0x1p-16, 2, 6},
    {&kE5M2FNUZ, 5, 2, 16, 57344, 0x1p-15, 0x1p-17, 0, 1},
    {&kE3M4Paper, 3, 4, 3, 30, 0x1p-2, 0x1p-6, 0, 2},
    {&kE3M4IEEE, 3, 4, 3, 15.5, 0x1p-2, 0x1p-6, 2, 30},
    {&kE2M1, 2, 1, 1, 6, 1, 0.5, 0, 0},
    {&kE2M3, 2, 3, 1, 7.5, 1, 0.125, 0, 0},
    {&kE3M2, 3, 2, 3, 28, 0.25, 0.0625, 0, 0},
    {&kF16, 5, 10, 15, 65504, 0x1p-14, 0x1p-24, 2, 2046},
    {&kBF16, 8, 7, 127, 0x1.FEp127, 0x1p-126, 0x1p-133, 2, 254},
};

bool has_infinity(const Published& row) {
  return row.infinities > 0;
}

/// The value of a code by the formula and the published special codes.
double expected_value(const Published& row, int code) {
  const int width = 1 + row.exponent_bits + row.mantissa_bits;
  const int sign = code >> (width - 1);
  const int exponent = (code >> row.mantissa_bits) % (1 << row.exponent_bits);
  const int mantissa = code % (1 << row.mantissa_bits);
  const int top_exponent = (1 << row.exponent_bits) - 1;
  const int top_mantissa = (1 << row.mantissa_bits) - 1;
  if (row.nans == 1 && code == 1 << (width - 1)) return kNan;
  if (row.nans == 2 && exponent == top_exponent && mantissa == top_mantissa) return kNan;
  if (has_infinity(row) && exponent == top_exponent)
    return mantissa != 0 ? kNan : sign != 0 ? -kInf : kInf;
  const double fraction = mantissa / std::pow(2.0, row.mantissa_bits);
  const double magnitude = exponent == 0 ? std::pow(2.0, 1 - row.bias) * fraction
                                         : std::pow(2.0, exponent - row.bias) * (1 + fraction);
  return sign != 0 ? -magnitude : magnitude;
}

std::vector<double> expected_values(const Published& row) {
  const int codes = 1 << (row.exponent_bits + row.mantissa_bits);
  std::vector<double> values;
  values.reserve(static_cast<size_t>(codes));
  for (int code = 0; code < codes; ++code)
    values.push_back(expected_value(row, code));
  return values;
}

int code_count(const Published& row) {
  return 1 << (1 + row.exponent_bits + row.mantissa_bits);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(Codec, EveryCodeHasItsPublishedValue) {
  for (const Published& row : kPublished) {
    int infinities = 0;
    int nans = 0;
    double largest = 0;
    for (int code = 0; code < code_count(row); ++code) {
      const double value = decode(*row.format, static_cast<uint32_t>(code));
      EXPECT_TRUE(same(value, expected_value(row, code))) << row.format->name << " " << code;
      infinities += std::isinf(value) ? 1 : 0;
      nans += std::isnan(value) ? 1 : 0;
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
    EXPECT_EQ(infinities, row.infinities) << row.format->name;
    EXPECT_EQ(nans, row.nans) << row.format->name;
    EXPECT_EQ(largest, row.max_finite) << row.format->name;
    EXPECT_EQ(max_finite(*row.format), row.max_finite);
    EXPECT_EQ(min_normal(*row.format), row.min_normal);
    EXPECT_EQ(min_subnormal(*row.format), row.min_subnormal);
  }
}

TEST(Codec, CountsOfTheQuantizationTable) {
  const auto finite = [](const FloatFormat& format) {
    int count = 0;
    for (uint32_t code = 0; code < 128; ++code)
      count += std::isfinite(decode(format, code)) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(finite(kE5M2), 124);
  EXPECT_EQ(finite(kE4M3FN), 127);
  EXPECT_EQ(finite(kE3M4Paper), 127);
  EXPECT_EQ(finite(kE3M4IEEE), 112);
}

/// Nearest finite value, ties to the even code; beyond the largest plus half a step: overflow.
double
nearest(const Published& row, const std::vector<double>& values, double x, Saturate saturate) {
  if (std::isnan(x)) return row.nans > 0 ? kNan : -0.0;
  const bool fnuz = row.nans == 1;
  if (fnuz && std::isinf(x)) return kNan;
  // What the next code would be worth if the format went on: the overflow threshold is halfway.
  int best = -1;
  double best_distance = kInf;
  const auto half = static_cast<int>(values.size());
  double last = 0;
  double before_last = 0;
  for (int code = 0; code < half; ++code) {
    const double value = values[static_cast<size_t>(code)];
    if (!std::isfinite(value)) continue;
    before_last = last;
    last = value;
    const double distance = std::fabs(std::fabs(x) - value);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  const double beyond = last + (last - before_last) / 2;
  const int last_code = best;
  const bool tie_overflows = last_code % 2 == 1;
  const bool overflow = std::fabs(x) > beyond || (std::fabs(x) == beyond && tie_overflows);
  double magnitude = values[static_cast<size_t>(best)];
  if (overflow && saturate == Saturate::kNo && row.nans > 0) {
    magnitude = kNan;
    if (has_infinity(row)) magnitude = kInf;
  } else if (overflow || std::isinf(x)) {
    magnitude = row.max_finite;
  }
  if (fnuz && magnitude == 0) return 0;
  return std::copysign(magnitude, x);
}

double round_trip(const FloatFormat& format, double x, Saturate saturate) {
  const uint32_t code = encode(format, x, saturate);
  EXPECT_LT(code, 1U << format.width());
  return decode(format, code);
}

TEST(Codec, EncodesEveryBf16ToTheNearestCode) {
  for (const Published& row : kPublished) {
    if (code_count(row) > 256) continue;
    const std::vector<double> values = expected_values(row);
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double x = std::bit_cast<float>(bits << 16);
      for (const Saturate saturate : {Saturate::kYes, Saturate::kNo}) {
        const double got = round_trip(*row.format, x, saturate);
        const double want = nearest(row, values, x, saturate);
        const bool both_nan = std::isnan(got) && std::isnan(want);
        ASSERT_TRUE(both_nan || same(got, want))
            << row.format->name << ": " << x << " gives " << got << ", nearest is " << want;
      }
    }
  }
}

TEST(Codec, TiesAndTheirNeighboursRoundOnce) {
  for (const Published& row : kPublished) {
    const int half = code_count(row) / 2;
    for (int code = 0; code + 1 < half; ++code) {
      const double low = expected_value(row, code);
      const double high = expected_value(row, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double tie = (low + high) / 2;
      const double even = code % 2 == 0 ? low : high;
      EXPECT_EQ(round_trip(*row.format, tie, Saturate::kYes), even);
      // One double away from the tie: a detour through float would lose it.
      EXPECT_EQ(round_trip(*row.format, std::nextafter(tie, 0), Saturate::kYes), low);
      EXPECT_EQ(round_trip(*row.format, std::nextafter(tie, kInf), Saturate::kYes), high);
      EXPECT_EQ(round_trip(*row.format, -tie, Saturate::kYes), even == 0 ? 0 : -even);
      EXPECT_EQ(encode(*row.format, low), static_cast<uint32_t>(code));
    }
  }
}

TEST(Codec, FollowsTheCastTables) {
  struct Case {
    const FloatFormat* format;
    double x, saturated, plain;
  };
  const double large = 1e9;
  for (const Case& c : std::vector<Case>{{&kE4M3FN, kInf, 448, kNan},
                                         {&kE4M3FN, -large, -448, kNan},
                                         {&kE4M3FNUZ, kInf, kNan, kNan},
                                         {&kE4M3FNUZ, -large, -240, kNan},
                                         {&kE5M2, kInf, 57344, kInf},
                                         {&kE5M2, -large, -57344, -kInf},
                                         {&kE5M2FNUZ, -kInf, kNan, kNan},
                                         {&kE5M2FNUZ, large, 57344, kNan},
                                         {&kE2M1, kInf, 6, 6},
                                         {&kE2M1, -large, -6, -6},
                                         // onnxruntime#16938
                                         {&kE4M3FN, 1.8131605, 1.875, 1.875}}) {
    EXPECT_TRUE(same(std::fabs(round_trip(*c.format, c.x, Saturate::kYes)), std::fabs(c.saturated)))
        << c.format->name << " " << c.x;
    EXPECT_TRUE(same(std::fabs(round_trip(*c.format, c.x, Saturate::kNo)), std::fabs(c.plain)))
        << c.format->name << " " << c.x;
  }
  EXPECT_EQ(encode(kE4M3FN, kNan), 0x7FU);
  EXPECT_EQ(encode(kE4M3FNUZ, kNan), 0x80U);
  EXPECT_EQ(encode(kE4M3FNUZ, -0.0), 0U);
  EXPECT_EQ(encode(kE5M2, kNan), 0x7EU);
  EXPECT_EQ(encode(kE2M1, kNan), 0x8U);
  EXPECT_EQ(encode(kE4M3FN, 464), 0x7EU); // halfway to the 480 that is not there: even
  EXPECT_TRUE(std::isnan(round_trip(kE4M3FN, 464.0001, Saturate::kNo)));
}

TEST(Codec, HalfAndBfloatAgreeWithTheGenericCodec) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto short_code = static_cast<uint16_t>(code);
    EXPECT_TRUE(same(f16_to_float(short_code), decode(kF16, code))) << code;
    EXPECT_TRUE(same(bf16_to_float(short_code), decode(kBF16, code))) << code;
    // Around every code: the value itself and both neighbours of the midpoint above it.
    for (const uint32_t low : {0U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const float x = std::bit_cast<float>(code << 16 | low);
      if (std::isnan(x)) continue;
      ASSERT_EQ(bf16_from_float(x), encode(kBF16, x, Saturate::kNo)) << x;
    }
  }
}

TEST(Codec, E8m0RoundsTheExponent) {
  for (int code = 0; code < 255; ++code) {
    const double value = std::pow(2.0, code - 127);
    const auto byte = static_cast<uint8_t>(code);
    EXPECT_EQ(decode_e8m0(byte), value);
    for (const auto mode : {E8m0Rounding::kUp, E8m0Rounding::kDown, E8m0Rounding::kNearest})
      EXPECT_EQ(encode_e8m0(value, mode), byte);
    const int up = std::min(code + 1, 254);
    EXPECT_EQ(encode_e8m0(value * 1.01, E8m0Rounding::kUp), up);
    EXPECT_EQ(encode_e8m0(value * 1.99, E8m0Rounding::kDown), code);
    EXPECT_EQ(encode_e8m0(value * 1.49, E8m0Rounding::kNearest), code);
    EXPECT_EQ(encode_e8m0(value * 1.5, E8m0Rounding::kNearest), up);
  }
  EXPECT_TRUE(std::isnan(decode_e8m0(255)));
  EXPECT_EQ(encode_e8m0(0, E8m0Rounding::kUp), 0);
  EXPECT_EQ(encode_e8m0(kNan, E8m0Rounding::kUp), 255);
  EXPECT_EQ(encode_e8m0(0x1.8p127, E8m0Rounding::kUp, Saturate::kNo), 255);
}

TEST(Codec, SubByteElementsLieLowBitsFirst) {
  const std::vector<std::pair<DType, std::vector<int>>> packed = {
      {DType::kUint4, {0x21, 0x43, 0x05}},      // 1 2 3 4 5
      {DType::kInt2, {0b11100100, 0b01}},       // codes 0 1 2 3 1
      {DType::kFloat6E2M3, {0x81, 0x30, 0x10}}, // codes 1 2 3 4: 000001 000010 000011 000100
  };
  for (const auto& [type, bytes] : packed) {
    std::vector<std::byte> data;
    for (const int byte : bytes)
      data.push_back(static_cast<std::byte>(byte));
    const std::vector<int> codes = type == DType::kUint4  ? std::vector{1, 2, 3, 4, 5}
                                   : type == DType::kInt2 ? std::vector{0, 1, 2, 3, 1}
                                                          : std::vector{1, 2, 3, 4};
    std::vector<std::byte> written(data.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      EXPECT_EQ(get_code(type, data.data(), at), codes[i]) << name(type) << " " << i;
      put_code(type, written.data(), at, static_cast<uint8_t>(codes[i]));
    }
    EXPECT_EQ(written, data) << name(type);
  }
}

TEST(Codec, SubByteTypesRoundTripAtEveryLength) {
  for (const DType type : {DType::kUint4, DType::kInt4, DType::kUint2, DType::kInt2,
                           DType::kFloat4E2M1, DType::kFloat6E2M3, DType::kFloat6E3M2}) {
    const int width = bits(type);
    for (int count = 0; count < 20; ++count) {
      std::vector<std::byte> data(static_cast<size_t>(bytes_for(type, count)), std::byte{0xff});
      std::vector<double> values;
      for (int i = 0; i < count; ++i) {
        const auto code = static_cast<uint8_t>((i * 7 + count) % (1 << width));
        put_code(type, data.data(), i, code);
        values.push_back(read_double(type, data.data(), i));
      }
      std::vector<std::byte> again(data.size());
      ASSERT_TRUE(write_doubles(type, values, again).ok());
      std::vector<double> back(values.size());
      ASSERT_TRUE(read_doubles(type, again, back).ok());
      EXPECT_EQ(back, values) << name(type);
    }
  }
}

template <class T>
std::vector<int64_t>
written(DType type, std::vector<T> values, Saturate saturate = Saturate::kYes) {
  std::vector<std::byte> data(static_cast<size_t>(bytes_for(type, values.size())));
  if constexpr (std::is_same_v<T, double>) {
    EXPECT_TRUE(write_doubles(type, values, data, saturate).ok());
  } else {
    EXPECT_TRUE(write_ints(type, values, data, saturate).ok());
  }
  std::vector<int64_t> out(values.size());
  EXPECT_TRUE(read_ints(type, data, out).ok());
  return out;
}

TEST(Convert, IntegersRoundHalfEvenAndSaturate) {
  using Ints = std::vector<int64_t>;
  EXPECT_EQ(written<double>(DType::kInt8, {0.5, 1.5, -0.5, -2.5, 127.5, 1e30, -kInf, kNan}),
            (Ints{0, 2, 0, -2, 127, 127, -128, 0}));
  EXPECT_EQ(written<double>(DType::kUint8, {-1, 254.5, 255.4, 256}), (Ints{0, 254, 255, 255}));
  EXPECT_EQ(written<double>(DType::kInt4, {7.5, -8.5, -9, 3.5}), (Ints{7, -8, -8, 4}));
  EXPECT_EQ(written<double>(DType::kUint2, {-1, 1.5, 2.5, 9}), (Ints{0, 2, 2, 3}));
  EXPECT_EQ(written<double>(DType::kInt64, {0x1p63, -0x1p63, 0x1.fffffffffffffp62}),
            (Ints{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                  9223372036854774784}));
  EXPECT_EQ(written<int64_t>(DType::kInt8, {300, -300, 5}, Saturate::kYes), (Ints{127, -128, 5}));
  EXPECT_EQ(written<int64_t>(DType::kInt8, {300, -300, 5}, Saturate::kNo), (Ints{44, -44, 5}));
  EXPECT_EQ(written<int64_t>(DType::kInt4, {9, -9}, Saturate::kNo), (Ints{-7, 7}));
  EXPECT_EQ(written<int64_t>(DType::kBool, {0, 5}), (Ints{0, 1}));
}

TEST(Convert, LargeIntegersRoundOnceIntoFloats) {
  // A double drops the 1 and leaves a tie between two bf16, which would round down, to even.
  const int64_t value = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  std::vector<std::byte> data(2);
  const std::vector<int64_t> values = {value};
  ASSERT_TRUE(write_ints(DType::kBfloat16, values, data).ok());
  EXPECT_EQ(read_double(DType::kBfloat16, data.data(), 0), 0x1.02p62);
}

TEST(Convert, DoublesBecomeHalvesInOneRounding) {
  // Just above a tie of f16: through float it would become the tie and round to even, down.
  const double x = 1 + 0x1p-11 + 0x1p-40;
  std::vector<std::byte> data(2);
  const std::vector<double> values = {x};
  ASSERT_TRUE(write_doubles(DType::kFloat16, values, data).ok());
  EXPECT_EQ(read_double(DType::kFloat16, data.data(), 0), 1 + 0x1p-10);
  EXPECT_EQ(encode(kF16, 65519.99, Saturate::kNo), 0x7BFFU);
  EXPECT_EQ(encode(kF16, 65520, Saturate::kNo), 0x7C00U);
}

TEST(Convert, StringsAndComplexAreRefused) {
  std::vector<double> out;
  for (const DType type : {DType::kString, DType::kComplex64, DType::kUndefined}) {
    const Status status = read_doubles(type, {}, out);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().text().find(name(type)), std::string::npos);
  }
}

TEST(DType, NamesParseBack) {
  for (int32_t code = 1; is_valid(code); ++code) {
    const auto type = static_cast<DType>(code);
    EXPECT_EQ(parse_dtype(name(type)), type);
  }
  EXPECT_FALSE(is_valid(0));
  EXPECT_FALSE(is_valid(29));
  EXPECT_EQ(parse_dtype("FLOAT"), DType::kFloat32);
  EXPECT_EQ(parse_dtype("float32"), DType::kFloat32);
  EXPECT_EQ(parse_dtype("BFLOAT16"), DType::kBfloat16);
  EXPECT_EQ(parse_dtype("nothing"), std::nullopt);
  EXPECT_EQ(find_float_format("e4m3fn"), &kE4M3FN);
  EXPECT_EQ(find_float_format("e4m3"), nullptr);
}

} // namespace
} // namespace octet
