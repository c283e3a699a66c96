// SPDX-License-Identifier: Apache-2.0
// One table says everything about the element types. Codes and names: ONNX TensorProto.DataType.
#include "octet/dtype.h"

#include <array>
#include <limits>

namespace octet {
namespace {

enum class NumberKind { kNone, kFloat, kSigned, kUnsigned, kBool, kComplex, kString };

struct TypeRow {
  std::string_view name;
  std::string_view onnx;
  std::string_view numpy;
  int bits;
  NumberKind kind;
  bool quantized;
};

constexpr std::array<TypeRow, 29> kRows = {{
    {"undefined", "UNDEFINED", "", 0, NumberKind::kNone, false},
    {"f32", "FLOAT", "float32", 32, NumberKind::kFloat, false},
    {"u8", "UINT8", "uint8", 8, NumberKind::kUnsigned, true},
    {"i8", "INT8", "int8", 8, NumberKind::kSigned, true},
    {"u16", "UINT16", "uint16", 16, NumberKind::kUnsigned, true},
    {"i16", "INT16", "int16", 16, NumberKind::kSigned, true},
    {"i32", "INT32", "int32", 32, NumberKind::kSigned, false},
    {"i64", "INT64", "int64", 64, NumberKind::kSigned, false},
    {"str", "STRING", "string", 0, NumberKind::kString, false},
    {"bool", "BOOL", "bool_", 8, NumberKind::kBool, false},
    {"f16", "FLOAT16", "float16", 16, NumberKind::kFloat, false},
    {"f64", "DOUBLE", "float64", 64, NumberKind::kFloat, false},
    {"u32", "UINT32", "uint32", 32, NumberKind::kUnsigned, false},
    {"u64", "UINT64", "uint64", 64, NumberKind::kUnsigned, false},
    {"c64", "COMPLEX64", "complex64", 64, NumberKind::kComplex, false},
    {"c128", "COMPLEX128", "complex128", 128, NumberKind::kComplex, false},
    {"bf16", "BFLOAT16", "bfloat16", 16, NumberKind::kFloat, false},
    {"f8e4m3fn", "FLOAT8E4M3FN", "float8_e4m3fn", 8, NumberKind::kFloat, true},
    {"f8e4m3fnuz", "FLOAT8E4M3FNUZ", "float8_e4m3fnuz", 8, NumberKind::kFloat, true},
    {"f8e5m2", "FLOAT8E5M2", "float8_e5m2", 8, NumberKind::kFloat, true},
    {"f8e5m2fnuz", "FLOAT8E5M2FNUZ", "float8_e5m2fnuz", 8, NumberKind::kFloat, true},
    {"u4", "UINT4", "uint4", 4, NumberKind::kUnsigned, true},
    {"i4", "INT4", "int4", 4, NumberKind::kSigned, true},
    {"f4e2m1", "FLOAT4E2M1", "float4_e2m1fn", 4, NumberKind::kFloat, true},
    {"f8e8m0", "FLOAT8E8M0", "float8_e8m0fnu", 8, NumberKind::kFloat, false},
    {"u2", "UINT2", "uint2", 2, NumberKind::kUnsigned, true},
    {"i2", "INT2", "int2", 2, NumberKind::kSigned, true},
    {"f6e2m3", "FLOAT6E2M3", "float6_e2m3fn", 6, NumberKind::kFloat, false},
    {"f6e3m2", "FLOAT6E3M2", "float6_e3m2fn", 6, NumberKind::kFloat, false},
}};

const TypeRow& row(DType type) {
  const auto code = static_cast<size_t>(type);
  return kRows[code < kRows.size() ? code : 0];
}

} // namespace

std::string_view name(DType type) {
  return row(type).name;
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t code = 1; code < kRows.size(); ++code) {
    const TypeRow& r = kRows[code];
    if (text == r.name || text == r.onnx || text == r.numpy) return static_cast<DType>(code);
  }
  return std::nullopt;
}

int bits(DType type) {
  return row(type).bits;
}

int64_t bytes_for(DType type, int64_t count) {
  const auto total = static_cast<__int128>(row(type).bits) * count;
  const __int128 bytes = (total + 7) / 8;
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max();
  return bytes > kLimit ? kLimit : static_cast<int64_t>(bytes);
}

bool is_float(DType type) {
  return row(type).kind == NumberKind::kFloat;
}
bool is_integer(DType type) {
  return row(type).kind == NumberKind::kSigned || row(type).kind == NumberKind::kUnsigned;
}
bool is_signed(DType type) {
  return row(type).kind == NumberKind::kSigned;
}
bool is_quantized(DType type) {
  return row(type).quantized;
}
bool is_valid(int32_t onnx_code) {
  return onnx_code > 0 && onnx_code < static_cast<int32_t>(kRows.size());
}

} // namespace octet
