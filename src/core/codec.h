// SPDX-License-Identifier: Apache-2.0
// Codecs: what the bits of every element type mean. Encoding rounds half to even, once, straight
// from the double (never through another format). Sources: NUMERICS (Formats), the ONNX Cast and
// float8/float4 texts, OCP Microscaling Formats 1.0 for E8M0, E2M1, E2M3 and E3M2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "octet/dtype.h"

namespace octet {

/// What becomes of a value beyond the largest finite one. kYes: the largest finite value (FNUZ
/// formats turn infinity into NaN all the same, as ONNX Cast says). kNo: infinity where the format
/// has one, else NaN; integers wrap. Formats without infinity and NaN saturate always.
enum class Saturate { kNo, kYes };

/// Which codes of a small float format are not numbers.
enum class Specials {
  kIeee,   ///< exponent all ones: infinity and NaN
  kFn,     ///< only all ones is NaN, no infinity
  kFnuz,   ///< only 1.0..0 is NaN, no infinity, no negative zero
  kFinite, ///< every code is a number; NaN encodes as -0, as in ONNX's own test data
};

/// A float format of at most 16 bits: sign, exponent, mantissa.
struct FloatFormat {
  std::string_view name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  int width() const { return 1 + exponent_bits + mantissa_bits; }
};

inline constexpr FloatFormat kF16 = {"f16", 5, 10, 15, Specials::kIeee};
inline constexpr FloatFormat kBF16 = {"bf16", 8, 7, 127, Specials::kIeee};
inline constexpr FloatFormat kE4M3FN = {"E4M3FN", 4, 3, 7, Specials::kFn};
inline constexpr FloatFormat kE4M3FNUZ = {"E4M3FNUZ", 4, 3, 8, Specials::kFnuz};
inline constexpr FloatFormat kE4M3IEEE = {"E4M3-IEEE", 4, 3, 7, Specials::kIeee};
inline constexpr FloatFormat kE5M2 = {"E5M2", 5, 2, 15, Specials::kIeee};
inline constexpr FloatFormat kE5M2FNUZ = {"E5M2FNUZ", 5, 2, 16, Specials::kFnuz};
/// As used by arXiv:2309.14592: largest value 30.
inline constexpr FloatFormat kE3M4Paper = {"E3M4-paper", 3, 4, 3, Specials::kFn};
/// As in LLVM's APFloat: largest value 15.5.
inline constexpr FloatFormat kE3M4IEEE = {"E3M4-IEEE", 3, 4, 3, Specials::kIeee};
inline constexpr FloatFormat kE2M1 = {"E2M1", 2, 1, 1, Specials::kFinite};
inline constexpr FloatFormat kE2M3 = {"E2M3", 2, 3, 1, Specials::kFinite};
inline constexpr FloatFormat kE3M2 = {"E3M2", 3, 2, 3, Specials::kFinite};

/// Every format above.
std::span<const FloatFormat* const> float_formats();
/// The format of an element type; null for f32, f64, E8M0 and whatever is no float.
const FloatFormat* float_format(DType type);
/// By name, the case of letters ignored; null when there is none.
const FloatFormat* find_float_format(std::string_view name);

uint32_t encode(const FloatFormat& format, double value, Saturate saturate = Saturate::kYes);
double decode(const FloatFormat& format, uint32_t code);
double max_finite(const FloatFormat& format);
double min_normal(const FloatFormat& format);
double min_subnormal(const FloatFormat& format);

/// E8M0 has neither sign nor mantissa: 2^(code - 127), 255 is NaN. The sign of `value` is ignored;
/// zero and what lies below 2^-127 give code 0; NaN and infinity give 255. A finite value that
/// rounds beyond 2^127 gives 254 when saturating, else 255. kNearest sends 1.5 * 2^e up (half to
/// even of the significand).
enum class E8m0Rounding { kUp, kDown, kNearest };
uint8_t encode_e8m0(double value, E8m0Rounding rounding, Saturate saturate = Saturate::kYes);
double decode_e8m0(uint8_t code);

uint16_t f16_from_float(float value); ///< as encode(kF16, ..., kNo): overflow gives infinity
float f16_to_float(uint16_t code);
uint16_t bf16_from_float(float value); ///< as encode(kBF16, ..., kNo)
float bf16_to_float(uint16_t code);

} // namespace octet
