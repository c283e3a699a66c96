// SPDX-License-Identifier: Apache-2.0
// Which scale belongs to which element: per tensor, per axis or in blocks along an axis, as
// QuantizeLinear and DequantizeLinear (opset 21) define it.
#pragma once

#include "ops/op.h"

namespace octet {

/// A tensor cut at the quantized axis, and where the scale of an element lies.
struct QuantLayout {
  int64_t outer = 1, axis_size = 1, inner = 1;
  int64_t block = 1; ///< elements along the axis that share a scale
  int64_t outer_stride = 0, block_stride = 0, inner_stride = 0; ///< in the scale tensor

  int64_t scale_index(int64_t o, int64_t a, int64_t i) const {
    return o * outer_stride + (a / block) * block_stride + i * inner_stride;
  }
};

/// Codes of 8 bits.
inline bool is_byte(DType type) {
  return type == DType::kInt8 || type == DType::kUint8;
}

/// Lowest and highest code of an integer type that QuantizeLinear may produce.
struct CodeRange {
  int32_t lo, hi;
};
/// Nullopt for the floating formats.
std::optional<CodeRange> code_range(DType type);

/// Of a DequantizeLinear: what the codes of its zero point's type may mean, by scales that are
/// constant. Unbounded with scales in blocks.
Range dequantized_range(const RangeContext& context);

/// Checks the shape of `scale` against `x` as far as dims are known. `block_size` is 0 unless
/// blocked. Errors: a scale that fits no granularity.
Status
check_quant_layout(const TypeInfo& x, const TypeInfo& scale, int64_t axis, int64_t block_size);
/// The layout for shapes that passed the check.
QuantLayout quant_layout(std::span<const int64_t> x,
                         std::span<const int64_t> scale,
                         int64_t axis,
                         int64_t block_size);

/// values -= zero: one zero point, or one for each of `rows` equal parts. Errors: another count.
Status subtract_zero_points(std::span<int64_t> values, const Tensor& zero, int64_t rows);

} // namespace octet
