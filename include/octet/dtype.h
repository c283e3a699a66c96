// SPDX-License-Identifier: Apache-2.0
// Element types, numbered as ONNX TensorProto.DataType does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octet {

enum class DType : int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

/// Short name as in the textual form: "f32", "i8", "f8e4m3fn", ...
std::string_view name(DType type);
/// The type of a short name, of ONNX's name ("FLOAT", "INT8") or of NumPy's ("float32").
std::optional<DType> parse_dtype(std::string_view text);
/// Bits that one element takes in a tensor's bytes; 0 for kString and kUndefined.
int bits(DType type);
/// Bytes of `count` elements (sub-byte types are packed, low bits first).
int64_t bytes_for(DType type, int64_t count);
bool is_float(DType type);     ///< any floating type, f64 to f4
bool is_integer(DType type);   ///< any signed or unsigned integer type, not bool
bool is_signed(DType type);    ///< integer types that hold negative values
bool is_quantized(DType type); ///< types that QuantizeLinear may produce
bool is_valid(int32_t onnx_code);

} // namespace octet
