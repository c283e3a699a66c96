// SPDX-License-Identifier: Apache-2.0
// From a range to a scale and a zero point, and the rounding of one number on a scheme's grid.
// Source: docs/numerics.md, "Quantize and dequantize".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octet/number_format.h"
#include "octet/observer.h"

namespace octet {

/// x is represented as (q - zero_point) * scale.
struct QuantParameters {
  float scale = 1;
  int32_t zero_point = 0;
  /// The range gave no usable scale (all zeros, or so small that the scale would be subnormal) and
  /// another one took its place.
  bool replaced = false;
};

/// Lowest and highest code (for floating-point formats: finite value) that the scheme uses.
struct Codes {
  double lowest;
  double highest;
};
Codes codes(const Scheme& scheme);
/// Of a symmetric grid, whose codes less their zero point these are: those that its step is taken
/// by. Of fewer than 8 bits all, since the lowest is one of few; else both sides have the step of
/// the upper one.
constexpr Codes reach(const Codes& codes) {
  constexpr double kHighestOf8Bits = 127;
  return codes.highest < kHighestOf8Bits ? codes : Codes{-codes.highest, codes.highest};
}
/// The same of a scheme.
Codes reach(const Scheme& scheme);
/// Whether it has a code more below 0 than above.
bool uses_lowest_code(const Scheme& scheme);
/// Bits of an integer grid that has all codes of its type; 8 for floating formats.
int all_bits(DType type);
/// The grid of `like` with so many bits in codes of the same type. Of few codes none is given away:
/// the lowest of 16 is worth half a bit where the extreme is negative.
Scheme with_bits(const Scheme& like, int bits);
/// The grid of a format, else as `like` is: floating formats are symmetric, integer ones of fewer
/// than 8 bits have all their codes, others all but those that `like` leaves out.
Scheme scheme_of(const NumberFormat& format, const Scheme& like);
/// The format that a tensor is stored in.
NumberFormat format_of(const Scheme& scheme, int64_t block);
/// An error for a type that no scheme may have.
Status check_scheme(const Scheme& scheme);

/// Symmetric: scale = max(|lo|, |hi|) / 127 (int8 and uint8; FP8: / largest finite value); of fewer
/// than 8 bits that use their lowest code max(hi / 7, -lo / 8) (4 bits).
/// Asymmetric: the range is widened to hold 0, scale = (hi - lo) / (highest - lowest), the zero
/// point is rounded half to even and clipped. The scale is positive, finite and not subnormal.
QuantParameters parameters_for(const Scheme& scheme, const Range& range);

/// With scales of E8M0 (OCP Microscaling Formats 1.0, 6.3): 2^(floor(log2 magnitude) - the largest
/// exponent of the codes); magnitudes above their largest number then saturate.

/// The same for each channel; a channel without a usable scale takes the smallest usable one of the
/// others, or 1 when there is none, and is marked as replaced. With scales of E4M3FN they are codes
/// times scale_unit().
std::vector<QuantParameters> parameters_for(const Scheme& scheme, std::span<const Range> ranges);

/// What scales stored as E4M3FN are multiplied by: with it the largest of all magnitudes has the
/// largest finite code and the largest finite scale (NVFP4). 1 where all are zero.
float scale_unit(const Scheme& scheme, std::span<const Range> ranges);

/// DQ(Q(x)) in double; what an observer compares `x` with.
double round_trip(const Scheme& scheme, const QuantParameters& parameters, double x);

} // namespace octet
