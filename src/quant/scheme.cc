// SPDX-License-Identifier: Apache-2.0
// Scales, zero points and rounding of schemes: see scheme.h.
#include "quant/scheme.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/codec.h"
#include "core/format.h"

namespace octet {

namespace {

/// Only asked of types that check_scheme takes.
const FloatFormat& format_of(DType type) {
  const FloatFormat* format = float_format(type);
  OCTET_CHECK(format != nullptr);
  return *format;
}

/// The scale as float, or 0 when it cannot be one.
float usable_scale(double scale) {
  const auto rounded = static_cast<float>(scale);
  return std::isnormal(rounded) && rounded > 0 ? rounded : 0.0F;
}

/// Middle code of a symmetric scheme.
int32_t middle(const Scheme& scheme) {
  return scheme.type == DType::kUint8 ? 1 << (scheme.bits - 1) : 0;
}

} // namespace

Codes codes(const Scheme& scheme) {
  const double half = std::ldexp(1.0, scheme.bits - 1);
  const double cut = scheme.narrow ? 1 : 0;
  if (scheme.type == DType::kUint8) return {cut, 2 * half - 1};
  if (scheme.type == DType::kInt8) return {cut - half, half - 1};
  const double max = max_finite(format_of(scheme.type));
  return {-max, max};
}

Status check_scheme(const Scheme& scheme) {
  if (scheme.bits < 2 || scheme.bits > 8 || (scheme.bits < 8 && !is_integer(scheme.type)))
    return error("{} bits of {}; integer codes have 2 to 8", scheme.bits, name(scheme.type));
  switch (scheme.type) {
  case DType::kInt8:
  case DType::kUint8:
  case DType::kFloat8E4M3FN:
  case DType::kFloat8E5M2:
    return ok_status();
  default:
    return error(ErrorCode::kUnsupported,
                 "no quantization scheme for type {}; use i8, u8, f8e4m3fn or f8e5m2",
                 name(scheme.type));
  }
}

QuantParameters parameters_for(const Scheme& scheme, const Range& range) {
  const double magnitude = std::max(std::fabs(range.lo), std::fabs(range.hi));
  QuantParameters out;
  if (!is_integer(scheme.type)) {
    out.scale = usable_scale(magnitude / max_finite(format_of(scheme.type)));
  } else if (scheme.symmetric) {
    out.scale = usable_scale(magnitude / (std::ldexp(1.0, scheme.bits - 1) - 1));
    out.zero_point = middle(scheme);
  } else {
    const Codes c = codes(scheme);
    const double lo = std::min(range.lo, 0.0);
    const double hi = std::max(range.hi, 0.0);
    out.scale = usable_scale((hi - lo) / (c.highest - c.lowest));
    const double zero =
        out.scale == 0 ? c.lowest : std::nearbyint(c.lowest - lo / static_cast<double>(out.scale));
    out.zero_point = static_cast<int32_t>(std::clamp(zero, c.lowest, c.highest));
  }
  if (out.scale == 0) {
    out.scale = 1;
    out.replaced = true;
  }
  return out;
}

std::vector<QuantParameters> parameters_for(const Scheme& scheme, std::span<const Range> ranges) {
  std::vector<QuantParameters> out;
  out.reserve(ranges.size());
  float smallest = std::numeric_limits<float>::infinity();
  for (const Range& range : ranges) {
    out.push_back(parameters_for(scheme, range));
    if (!out.back().replaced) smallest = std::min(smallest, out.back().scale);
  }
  for (QuantParameters& p : out)
    if (p.replaced && std::isfinite(smallest)) p.scale = smallest;
  return out;
}

double round_trip(const Scheme& scheme, const QuantParameters& parameters, double x) {
  const auto scale = static_cast<double>(parameters.scale);
  if (!is_integer(scheme.type)) {
    const FloatFormat& format = format_of(scheme.type);
    return decode(format, encode(format, x / scale)) * scale;
  }
  const Codes c = codes(scheme);
  const double zero = parameters.zero_point;
  return (std::clamp(std::nearbyint(x / scale) + zero, c.lowest, c.highest) - zero) * scale;
}

} // namespace octet
