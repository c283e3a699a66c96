// SPDX-License-Identifier: Apache-2.0
// A float for each of 256 codes, looked up: any function of one 8-bit tensor, at the cost of a load.
#pragma once

#include <cstdint>

#include "core/cpu.h"

namespace octet::kernels {

/// Indexed by the bits of the code (int8 -1 is entry 255).
struct FloatTable {
  alignas(64) float numbers[256];
  /// Byte i of each number, which permutations of bytes take.
  alignas(64) uint8_t planes[4][256];

  void set(uint8_t code, float number);
};

/// y[i] = numbers[codes[i]] for i < count.
using FloatLookup = void(const FloatTable& table, const uint8_t* codes, int64_t count, float* y);
FloatLookup float_lookup_scalar, float_lookup_avx512vbmi;
FloatLookup* float_lookup_of(Isa isa);

} // namespace octet::kernels
