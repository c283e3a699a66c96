// SPDX-License-Identifier: Apache-2.0
// From a range to a scale and a zero point, and the rounding of one number on a scheme's grid.
// Source: docs/numerics.md, "Quantize and dequantize".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
/// An error for a type that no scheme may have.
Status check_scheme(const Scheme& scheme);

/// Symmetric: scale = max(|lo|, |hi|) / 127 (int8 and uint8; FP8: / largest finite value).
/// Asymmetric: the range is widened to hold 0, scale = (hi - lo) / (highest - lowest), the zero
/// point is rounded half to even and clipped. The scale is positive, finite and not subnormal.
QuantParameters parameters_for(const Scheme& scheme, const Range& range);

/// The same for each channel; a channel without a usable scale takes the smallest usable one of the
/// others, or 1 when there is none, and is marked as replaced.
std::vector<QuantParameters> parameters_for(const Scheme& scheme, std::span<const Range> ranges);

/// DQ(Q(x)) in double; what an observer compares `x` with.
double round_trip(const Scheme& scheme, const QuantParameters& parameters, double x);

} // namespace octet
