// SPDX-License-Identifier: Apache-2.0
// Weights of float products as codes of 2 to 8 bits, packed in panels of columns as sgemm packs
// floats, and decoded a block at a time: w = (q - zero) * scale, each step rounded to f32, as
// DequantizeLinear gives it. Specification: decode_scalar of stored_codes.cc.
#pragma once

#include <cstdint>
#include <span>

#include "core/cpu.h"
#include "runtime/kernels/buffer.h"

#include "octet/dtype.h"

namespace octet::kernels {

/// Codes of [n, k] weights for one instruction set: panels of `width` columns, of which half fill a
/// vector. Integers of 2 and 4 bits are counted from the lowest one of their type. A row of k of a panel is
///   8 bits: width bytes;  4 bits: width / 2 bytes, column j in the low half of byte j and column
///   j + width / 2 in its high half;  2 bits: as 4 bits of two rows of k, the first one in the low
///   half of each byte.
struct PackedCodes {
  Isa isa = Isa::kScalar;
  DType type = DType::kInt8;
  int64_t n = 0;
  int64_t k = 0;
  int64_t width = 0;
  bool has_nan = false; ///< a code of E4M3 is no number
  AlignedBuffer data;

  int64_t panel_bytes() const;
};

/// `codes`: those of a tensor [n, k], as it stores them. `type`: i8, u8, i4, u4, i2, u2 or FP8.
PackedCodes pack_codes(std::span<const std::byte> codes, DType type, int64_t n, int64_t k, Isa isa);

/// Rows [begin, end) of k of one panel.
struct DecodeArgs {
  DType type = DType::kInt8;
  bool has_nan = false;           ///< as PackedCodes has it
  const uint8_t* codes = nullptr; ///< of the panel
  int64_t width = 0;
  int64_t block = 1;             ///< rows of k that share scales
  const float* scales = nullptr; ///< of the panel: [blocks][width]
  const float* zeros = nullptr;  ///< the same; null: 0
  int64_t begin = 0;
  int64_t end = 0;
  float* out = nullptr; ///< [end - begin][width]
};
using DecodeFn = void(const DecodeArgs& args);
DecodeFn decode_scalar, decode_avx2, decode_avx512;

/// What panels of this width that were packed for `isa` are made for: those of few columns are for
/// AVX2.
Isa isa_of_panels(Isa isa, int64_t width);
DecodeFn* decode_of(Isa isa, int64_t width);

} // namespace octet::kernels
