// SPDX-License-Identifier: Apache-2.0
// How tensors are stored beside what computes in floats.
#pragma once

#include <cstdint>

#include "runtime/kernels/codes.h"

namespace octet::kernels {

/// Floats, or codes of one scale and zero point. Codes that are written stay within [lo, hi].
struct MapFormat {
  enum class Type : uint8_t { kFloat, kInt8, kUint8 };
  Type type = Type::kFloat;
  float scale = 1.0F;
  int32_t zero_point = 0;
  int32_t lo = -128;
  int32_t hi = 127;

  bool coded() const { return type != Type::kFloat; }
  bool is_signed() const { return type == Type::kInt8; }
};

/// Codes of the format as numbers.
inline DequantizeArgs
reading(const MapFormat& format, const uint8_t* codes, int64_t count, float* numbers) {
  return {.x = codes,
          .count = count,
          .is_signed = format.is_signed(),
          .scale = format.scale,
          .zero_point = format.zero_point,
          .y = numbers};
}

/// Numbers as codes of the format.
inline QuantizeArgs
writing(const MapFormat& format, const float* numbers, int64_t count, uint8_t* codes) {
  return {.x = numbers,
          .count = count,
          .scale = format.scale,
          .zero_point = format.zero_point,
          .lo = format.lo,
          .hi = format.hi,
          .is_signed = format.is_signed(),
          .y = codes};
}

} // namespace octet::kernels
