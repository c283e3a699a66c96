// SPDX-License-Identifier: Apache-2.0
// Number formats by name: the type of a code, and what shares a scale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dtype.h"
#include "octet/result.h"

namespace octet {

/// How numbers are stored in a file. `int4/32`: 4 bits, one scale for 32 numbers that a product
/// sums; `int4`: one scale for each output channel. `float`: no codes.
struct NumberFormat {
  DType type = DType::kInt8; ///< of the codes; kFloat32: `float`
  DType scale =
      DType::kFloat32; ///< of the scales that stand beside the codes: f32, f8e8m0 (MX), or
                       ///< f8e4m3fn, which one f32 scale multiplies (NVFP4)
  int64_t block = 0;   ///< numbers that share a scale; 0: those of a channel or a tensor
  bool operator==(const NumberFormat&) const = default;
};

/// "int4/32", "fp8-e4m3fn", "mxfp4". The name that parse_number_format takes back.
std::string name(const NumberFormat& format);
/// Errors: an unknown name (those that there are, and the nearest), a block where the format has
/// none or its own, a size of blocks that is not 16 to 1024, a format that ONNX has no type for.
Result<NumberFormat> parse_number_format(std::string_view text);
/// int8, uint8, int16, ...: one for each type, without blocks of one's own choice.
std::vector<std::string_view> number_format_names();

bool is_float(const NumberFormat& format); ///< `float`: the numbers as they are
bool is_byte(const NumberFormat& format);  ///< int8 or uint8 without blocks
/// The first operator set of ONNX whose QuantizeLinear and DequantizeLinear take such codes and
/// scales, and the first version of the file format.
int64_t first_opset(const NumberFormat& format);
int64_t first_ir_version(const NumberFormat& format);

} // namespace octet
