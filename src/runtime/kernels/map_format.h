// SPDX-License-Identifier: Apache-2.0
// How tensors are stored beside what computes in floats.
#pragma once

#include <cstdint>

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

} // namespace octet::kernels
