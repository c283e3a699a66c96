// SPDX-License-Identifier: Apache-2.0
// Kernels over 8-bit codes: table lookup, quantize, dequantize, sum of two tensors. Bit for bit the
// scalar functions of core/numerics/round.h and epilogue.h.
#pragma once

#include <cstdint>

#include "core/cpu.h"
#include "runtime/kernels/broadcast.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// y[i] = table[byte x[i]]: a unary function between two 8-bit tensors. The table is indexed by the
/// bits of the code (int8 -1 is entry 255). y may be x.
void lookup(const uint8_t table[256],
            const uint8_t* x,
            int64_t count,
            uint8_t* y,
            Isa isa,
            ParallelFor& parallel);
using TableLookup = void(const uint8_t table[256], const uint8_t* x, int64_t count, uint8_t* y);
TableLookup table_lookup_scalar, table_lookup_avx2, table_lookup_avx512vbmi;

/// Code `i` of i8 or u8 codes.
inline int32_t code_at(const void* p, bool is_signed, int64_t i) {
  return is_signed ? int32_t{static_cast<const int8_t*>(p)[i]}
                   : int32_t{static_cast<const uint8_t*>(p)[i]};
}

/// QuantizeLinear per tensor, a true division: lo and hi within int8 (is_signed) or uint8.
struct QuantizeArgs {
  const float* x = nullptr;
  int64_t count = 0;
  float scale = 1.0F;
  int32_t zero_point = 0;
  int32_t lo = -128;
  int32_t hi = 127;
  bool is_signed = true;
  void* y = nullptr;
};
void quantize(const QuantizeArgs& args, Isa isa, ParallelFor& parallel);

/// numerics::quantize of each row with a scale of its own, numerics::row_scale: int8 codes around 0.
struct QuantizeRowsArgs {
  const float* x = nullptr; ///< [rows, length]
  int64_t rows = 0;
  int64_t length = 0;
  int8_t* y = nullptr;     ///< [rows, length]
  float* scales = nullptr; ///< [rows]
};
void quantize_rows(const QuantizeRowsArgs& args, Isa isa, ParallelFor& parallel);

/// ONNX's DynamicQuantizeLinear: uint8 codes, with the scale and zero point of the whole tensor's
/// range, which always contains 0. NaN is passed over in the range.
void dynamic_quantize(const float* x,
                      int64_t count,
                      uint8_t* y,
                      float* scale,
                      uint8_t* zero_point,
                      Isa isa,
                      ParallelFor& parallel);

/// DequantizeLinear per tensor.
struct DequantizeArgs {
  const void* x = nullptr;
  int64_t count = 0;
  bool is_signed = true;
  float scale = 1.0F;
  int32_t zero_point = 0;
  float* y = nullptr;
};
void dequantize(const DequantizeArgs& args, Isa isa, ParallelFor& parallel);

/// y = numerics::add_quantized(a, b); the three tensors may differ in signedness.
struct AddCodesArgs {
  const void* a = nullptr;
  int64_t a_step = 1; ///< of an instruction set's kernel: 0 repeats one code
  const void* b = nullptr;
  int64_t b_step = 1;
  bool a_signed = true;
  bool b_signed = true;
  bool y_signed = true;
  int32_t a_zero_point = 0;
  int32_t b_zero_point = 0;
  float a_multiplier = 1.0F; ///< s_a / s_y
  float b_multiplier = 1.0F; ///< s_b / s_y
  int32_t zero_point = 0;
  int32_t lo = -128;
  int32_t hi = 127;
  void* y = nullptr;
};
/// The operands broadcast by the plan, from which their steps are taken.
void add_codes(const AddCodesArgs& args, const BroadcastPlan& plan, Isa isa, ParallelFor& parallel);

/// Elements [begin, end), or the first `count`, on one instruction set.
struct CodeKernels {
  /// Widens [lo, hi] to the elements.
  void (*range)(const float* x, int64_t begin, int64_t end, float& lo, float& hi);
  /// numerics::largest_magnitude.
  float (*magnitude)(const float* x, int64_t count);
  void (*quantize)(const QuantizeArgs& args, int64_t begin, int64_t end);
  void (*dequantize)(const DequantizeArgs& args, int64_t begin, int64_t end);
  void (*add)(const AddCodesArgs& args, int64_t count);
};
CodeKernels code_kernels_of(Isa isa);
CodeKernels code_kernels_scalar();
CodeKernels code_kernels_avx2();
CodeKernels code_kernels_avx512();

} // namespace octet::kernels
