// SPDX-License-Identifier: Apache-2.0
// The scalar codecs; core/convert.cc has the bulk conversions.
#include "core/codec.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace octet {
namespace {

constexpr std::array<const FloatFormat*, 12> kFormats = {
    &kF16,      &kBF16,      &kE4M3FN,   &kE4M3FNUZ, &kE4M3IEEE, &kE5M2,
    &kE5M2FNUZ, &kE3M4Paper, &kE3M4IEEE, &kE2M1,     &kE2M3,     &kE3M2};

uint32_t sign_bit(const FloatFormat& format) {
  return 1U << (format.width() - 1);
}

/// The code of the largest finite magnitude.
uint32_t max_code(const FloatFormat& format) {
  const uint32_t all_ones = sign_bit(format) - 1;
  if (format.specials == Specials::kIeee) return all_ones - (1U << format.mantissa_bits);
  return format.specials == Specials::kFn ? all_ones - 1 : all_ones;
}

uint32_t infinity_code(const FloatFormat& format) {
  return sign_bit(format) - (1U << format.mantissa_bits);
}

uint32_t nan_code(const FloatFormat& format, uint32_t sign) {
  if (format.specials == Specials::kIeee)
    return sign | infinity_code(format) | (1U << (format.mantissa_bits - 1));
  if (format.specials == Specials::kFn) return sign | (sign_bit(format) - 1);
  return sign_bit(format); // FNUZ's only NaN; -0 where there is none
}

uint32_t overflow_code(const FloatFormat& format, uint32_t sign, bool infinite, Saturate saturate) {
  if (format.specials == Specials::kFinite) return sign | max_code(format);
  if (format.specials == Specials::kFnuz && infinite) return nan_code(format, sign);
  if (saturate == Saturate::kYes) return sign | max_code(format);
  if (format.specials == Specials::kIeee) return sign | infinity_code(format);
  return nan_code(format, sign);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

} // namespace

std::span<const FloatFormat* const> float_formats() {
  return kFormats;
}

const FloatFormat* float_format(DType type) {
  switch (type) {
  case DType::kFloat16:
    return &kF16;
  case DType::kBfloat16:
    return &kBF16;
  case DType::kFloat8E4M3FN:
    return &kE4M3FN;
  case DType::kFloat8E4M3FNUZ:
    return &kE4M3FNUZ;
  case DType::kFloat8E5M2:
    return &kE5M2;
  case DType::kFloat8E5M2FNUZ:
    return &kE5M2FNUZ;
  case DType::kFloat4E2M1:
    return &kE2M1;
  case DType::kFloat6E2M3:
    return &kE2M3;
  case DType::kFloat6E3M2:
    return &kE3M2;
  default:
    return nullptr;
  }
}

const FloatFormat* find_float_format(std::string_view name) {
  for (const FloatFormat* format : kFormats) {
    if (same_letters(format->name, name)) return format;
  }
  return nullptr;
}

uint32_t encode(const FloatFormat& format, double value, Saturate saturate) {
  const auto raw = std::bit_cast<uint64_t>(value);
  const uint32_t sign = (raw >> 63) != 0 ? sign_bit(format) : 0;
  const int field = static_cast<int>((raw >> 52) & 0x7ff);
  const uint64_t fraction = raw & ((uint64_t{1} << 52) - 1);
  if (field == 0x7ff) {
    return fraction != 0 ? nan_code(format, sign) : overflow_code(format, sign, true, saturate);
  }
  // |value| = significand * 2^(exponent - 52); subnormal doubles are below half of every format's
  // smallest code.
  const uint64_t significand = field == 0 ? 0 : fraction | (uint64_t{1} << 52);
  const int exponent = field - 1023;
  const int lowest = 1 - format.bias;
  const int kept = exponent < lowest ? lowest : exponent;
  const int shift = 52 - format.mantissa_bits + (kept - exponent);
  uint64_t rounded = 0;
  if (shift < 64) {
    rounded = significand >> shift;
    const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  }
  // A carry out of the mantissa moves into the exponent by itself.
  const uint64_t code = (static_cast<uint64_t>(kept - lowest) << format.mantissa_bits) + rounded;
  if (code > max_code(format)) return overflow_code(format, sign, false, saturate);
  if (code == 0 && format.specials == Specials::kFnuz) return 0;
  return sign | static_cast<uint32_t>(code);
}

double decode(const FloatFormat& format, uint32_t code) {
  const uint32_t top = sign_bit(format);
  code &= 2 * top - 1;
  const bool negative = (code & top) != 0;
  const uint32_t magnitude = code & (top - 1);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (format.specials == Specials::kFnuz && code == top) return kNan;
  double value = 0;
  if (format.specials != Specials::kFnuz && magnitude > max_code(format)) {
    const bool infinite = format.specials == Specials::kIeee && magnitude == infinity_code(format);
    value = infinite ? std::numeric_limits<double>::infinity() : kNan;
  } else {
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint32_t one = 1U << format.mantissa_bits;
    const uint32_t mantissa = magnitude & (one - 1);
    value = exponent == 0
                ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
                : std::ldexp(mantissa | one, exponent - format.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

double max_finite(const FloatFormat& format) {
  return decode(format, max_code(format));
}
double min_normal(const FloatFormat& format) {
  return std::ldexp(1.0, 1 - format.bias);
}
double min_subnormal(const FloatFormat& format) {
  return std::ldexp(1.0, 1 - format.bias - format.mantissa_bits);
}

uint8_t encode_e8m0(double value, E8m0Rounding rounding, Saturate saturate) {
  if (!std::isfinite(value)) return 255;
  const double magnitude = std::fabs(value);
  if (magnitude <= 0x1p-127) return 0;
  int exponent = std::ilogb(magnitude);
  const double significand = std::scalbn(magnitude, -exponent);
  const bool up = rounding == E8m0Rounding::kUp        ? significand > 1
                  : rounding == E8m0Rounding::kNearest ? significand >= 1.5
                                                       : false;
  exponent += up ? 1 : 0;
  if (exponent > 127) return saturate == Saturate::kYes ? 254 : 255;
  return static_cast<uint8_t>(exponent + 127);
}

double decode_e8m0(uint8_t code) {
  if (code == 255) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, code - 127);
}

uint16_t f16_from_float(float value) {
  return static_cast<uint16_t>(encode(kF16, value, Saturate::kNo));
}

float f16_to_float(uint16_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x8000) << 16;
  const uint32_t magnitude = code & 0x7fff;
  if (magnitude >= 0x7c00) { // infinity and NaN keep their payload
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  }
  if (magnitude < 0x400) { // zero and subnormals: a multiple of 2^-24
    const float small = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(small));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
}

uint16_t bf16_from_float(float value) {
  const auto raw = std::bit_cast<uint32_t>(value);
  if ((raw & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((raw >> 16 & 0x8000) | 0x7fc0);
  return static_cast<uint16_t>((raw + 0x7fff + (raw >> 16 & 1)) >> 16);
}

float bf16_to_float(uint16_t code) {
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
}

} // namespace octet
