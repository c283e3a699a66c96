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
const FloatFormat& float_of(DType type) {
  const FloatFormat* format = float_format(type);
  OCTET_CHECK(format != nullptr);
  return *format;
}

/// The scale as float, or 0 when it cannot be one.
float usable_scale(double scale) {
  const auto rounded = static_cast<float>(scale);
  return std::isnormal(rounded) && rounded > 0 ? rounded : 0.0F;
}

double largest_magnitude(const Range& range) {
  return std::max(std::fabs(range.lo), std::fabs(range.hi));
}

/// The nearest scale that is a code of E4M3FN times `unit`; one that rounds to 0 is none.
void in_units(double unit, QuantParameters& parameters) {
  if (parameters.replaced) return;
  const double code =
      decode(kE4M3FN, encode(kE4M3FN, static_cast<double>(parameters.scale) / unit));
  parameters.scale = usable_scale(code * unit);
  if (parameters.scale != 0) return;
  parameters.scale = 1;
  parameters.replaced = true;
}

/// Of a symmetric scheme: with less, numbers of the range would be clipped.
double symmetric_step(const Scheme& scheme, const Range& range) {
  const Codes all = reach(scheme);
  return std::max(std::max(range.hi, 0.0) / all.highest, std::min(range.lo, 0.0) / all.lowest);
}

/// Middle code of a symmetric scheme.
int32_t middle(const Scheme& scheme) {
  return is_signed(scheme.type) ? 0 : 1 << (scheme.bits - 1);
}

} // namespace

int all_bits(DType type) {
  return is_integer(type) ? bits(type) : 8;
}

Scheme scheme_of(const NumberFormat& format, const Scheme& like) {
  Scheme out = with_bits(like, all_bits(format.type));
  out.type = format.type;
  out.scale = format.scale;
  if (is_integer(format.type)) return out;
  out.narrow = false;
  out.symmetric = true;
  return out;
}

Scheme with_bits(const Scheme& like, int bits) {
  constexpr int kByteBits = 8;
  Scheme out = like;
  out.bits = bits;
  if (bits < kByteBits) out.narrow = false;
  return out;
}

Codes reach(const Scheme& scheme) {
  const Codes all = codes(scheme);
  if (!is_integer(scheme.type)) return all;
  const double zero = middle(scheme);
  return reach(Codes{all.lowest - zero, all.highest - zero});
}

bool uses_lowest_code(const Scheme& scheme) {
  const Codes all = reach(scheme);
  return -all.lowest > all.highest;
}

NumberFormat format_of(const Scheme& scheme, int64_t block) {
  return {scheme.type, scheme.scale, block};
}

Codes codes(const Scheme& scheme) {
  const double half = std::ldexp(1.0, scheme.bits - 1);
  const double cut = scheme.narrow ? 1 : 0;
  if (!is_integer(scheme.type)) {
    const double max = max_finite(float_of(scheme.type));
    return {-max, max};
  }
  return is_signed(scheme.type) ? Codes{cut - half, half - 1} : Codes{cut, 2 * half - 1};
}

Status check_scheme(const Scheme& scheme) {
  if (!is_quantized(scheme.type))
    return error(ErrorCode::kUnsupported,
                 "no quantization scheme for type {}; use i8, u8, f8e4m3fn or another of 2 to 16 "
                 "bits",
                 name(scheme.type));
  const int all = all_bits(scheme.type);
  if (scheme.bits < 2 || scheme.bits > all || (scheme.bits < all && !is_integer(scheme.type)))
    return error("{} bits of {}; its codes have {}", scheme.bits, name(scheme.type),
                 is_integer(scheme.type) ? fmt::format("2 to {}", all) : "all of theirs");
  if (scheme.scale != DType::kFloat32 && scheme.scale != DType::kFloat8E8M0 &&
      scheme.scale != DType::kFloat8E4M3FN)
    return error("scales of type {}; they are f32, f8e8m0 or f8e4m3fn", name(scheme.scale));
  return ok_status();
}

float scale_unit(const Scheme& scheme, std::span<const Range> ranges) {
  double largest = 0;
  for (const Range& range : ranges)
    largest = std::max(largest, largest_magnitude(range));
  const float unit = usable_scale(largest / (codes(scheme).highest * max_finite(kE4M3FN)));
  return unit == 0 ? 1.0F : unit;
}

QuantParameters parameters_for(const Scheme& scheme, const Range& range) {
  const double magnitude = largest_magnitude(range);
  QuantParameters out;
  if (scheme.scale == DType::kFloat8E8M0) {
    const int most = std::ilogb(codes(scheme).highest);
    out.scale = magnitude > 0 ? usable_scale(std::ldexp(1.0, std::ilogb(magnitude) - most)) : 0.0F;
  } else if (!is_integer(scheme.type)) {
    out.scale = usable_scale(magnitude / max_finite(float_of(scheme.type)));
  } else if (scheme.symmetric) {
    out.scale = usable_scale(symmetric_step(scheme, range));
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
  const double unit =
      scheme.scale == DType::kFloat8E4M3FN ? static_cast<double>(scale_unit(scheme, ranges)) : 0;
  for (const Range& range : ranges) {
    out.push_back(parameters_for(scheme, range));
    if (unit > 0) in_units(unit, out.back());
    if (!out.back().replaced) smallest = std::min(smallest, out.back().scale);
  }
  for (QuantParameters& p : out)
    if (p.replaced && std::isfinite(smallest)) p.scale = smallest;
  return out;
}

double round_trip(const Scheme& scheme, const QuantParameters& parameters, double x) {
  const auto scale = static_cast<double>(parameters.scale);
  if (!is_integer(scheme.type)) {
    const FloatFormat& format = float_of(scheme.type);
    return decode(format, encode(format, x / scale)) * scale;
  }
  const Codes c = codes(scheme);
  const double zero = parameters.zero_point;
  return (std::clamp(std::nearbyint(x / scale) + zero, c.lowest, c.highest) - zero) * scale;
}

} // namespace octet
