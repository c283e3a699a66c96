// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear to and from FP8 with one scale and zero point 0. Bit for bit
// encode() and decode() of core/codec.h of the quotient, and the product with the scale, in f32.
#pragma once

#include <cstdint>

#include "core/codec.h"
#include "core/cpu.h"

#include "octet/dtype.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

struct EncodeFp8Args {
  DType type = DType::kFloat8E4M3FN; ///< one of the four of FP8
  Saturate saturate = Saturate::kYes;
  const float* x = nullptr;
  int64_t count = 0;
  float scale = 1.0F;
  uint8_t* y = nullptr;
};
void encode_fp8(const EncodeFp8Args& args, Isa isa, ParallelFor& parallel);

struct DecodeFp8Args {
  DType type = DType::kFloat8E4M3FN;
  const uint8_t* x = nullptr;
  int64_t count = 0;
  float scale = 1.0F;
  float* y = nullptr;
};
void decode_fp8(const DecodeFp8Args& args, Isa isa, ParallelFor& parallel);

/// The first `count` elements on one instruction set.
using EncodeFp8Fn = void(const EncodeFp8Args& args);
EncodeFp8Fn encode_fp8_scalar, encode_fp8_avx2, encode_fp8_avx512;
using DecodeFp8Fn = void(const DecodeFp8Args& args);
DecodeFp8Fn decode_fp8_scalar, decode_fp8_avx2, decode_fp8_avx512;

} // namespace octet::kernels
