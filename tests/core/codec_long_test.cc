// SPDX-License-Identifier: Apache-2.0
// Every 8-bit format over floats in ascending order, against a pointer that walks the sorted list
// of values. With OCTET_LONG set all 2^32 floats are encoded (minutes), otherwise one in 4093.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/codec.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

/// The magnitudes of codes 0, 1, 2, ... in ascending order, by the definition of the format.
std::vector<double> magnitudes(const FloatFormat& format) {
  std::vector<double> out;
  const int mantissas = 1 << format.mantissa_bits;
  for (int code = 0; code < 128; ++code) {
    const int exponent = code / mantissas;
    const double fraction = static_cast<double>(code % mantissas) / mantissas;
    out.push_back(exponent == 0 ? std::pow(2.0, 1 - format.bias) * fraction
                                : std::pow(2.0, exponent - format.bias) * (1 + fraction));
  }
  return out;
}

void check_all_floats(const FloatFormat& format, double largest, uint32_t step) {
  const std::vector<double> values = magnitudes(format);
  uint32_t at = 0;
  const bool fnuz = format.specials == Specials::kFnuz;
  for (uint64_t bits = 0; bits < 0x7f800000; bits += step) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    while (values[at] < largest) {
      const double tie = (values[at] + values[at + 1]) / 2;
      if (x < tie || (x == tie && at % 2 == 0)) break;
      ++at;
    }
    ASSERT_EQ(encode(format, x), at) << format.name << " " << x;
    ASSERT_EQ(encode(format, -x), fnuz && at == 0 ? 0U : at | 0x80U) << format.name << " " << -x;
  }
  EXPECT_EQ(values[at], largest);
  for (uint64_t bits = 0x7f800001; bits < 0x80000000; bits += step) {
    const float nan = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_TRUE(std::isnan(decode(format, encode(format, nan)))) << format.name;
  }
}

TEST(CodecLong, EightBitFormatsOverAllFloats) {
  const bool all = std::getenv("OCTET_LONG") != nullptr;
  const uint32_t step = all ? 1 : 4093;
  check_all_floats(kE4M3FN, 448, step);
  check_all_floats(kE4M3FNUZ, 240, step);
  check_all_floats(kE4M3IEEE, 240, step);
  check_all_floats(kE5M2, 57344, step);
  check_all_floats(kE5M2FNUZ, 57344, step);
  check_all_floats(kE3M4Paper, 30, step);
  check_all_floats(kE3M4IEEE, 15.5, step);
}

} // namespace
} // namespace octet
