// SPDX-License-Identifier: Apache-2.0
// What the integer operators of octet.native share: attributes of the step after an exact sum, its
// validation, and its evaluation by the scalar functions of core/numerics/epilogue.h.
#pragma once

#include <optional>

#include "core/numerics/program.h"
#include "ops/shared/validate.h"

namespace octet::native {

inline constexpr TypeSet kCodes{DType::kInt8, DType::kUint8};
/// Weights of products: i16 within kLeastWideWeight and kMostWideWeight where int8 does not hold
/// codes less their zero point.
inline constexpr TypeSet kWeights{DType::kInt8, DType::kInt16};
inline constexpr int64_t kLeastWideWeight = -256, kMostWideWeight = 254;
inline constexpr TypeSet kF32{DType::kFloat32};

/// Attributes to, y_zero_point, lo, hi, min, max, residual_zero_point, residual_ratio.
struct EpilogueAttrs {
  DType to = DType::kInt8;
  int32_t zero = 0, lo = -128, hi = 127;
  float min = 0, max = 0;
  int32_t residual_zero = 0;
  float residual_ratio = 0;
};
/// Errors: `to` is none of i8, u8, f32, i32; codes outside its range; lo above hi.
Result<EpilogueAttrs> parse_epilogue(const Node& node);

/// A zero point attribute of an input with codes. Errors: no code of that input's type.
Result<int32_t> parse_zero_point(const Node& node, std::string_view key, DType type);

/// Checks multiplier, bias and residual, inputs 2, 3 and 4 of QGemm and QConv.
Status check_epilogue_inputs(const InferContext& ctx,
                             const EpilogueAttrs& attrs,
                             const std::vector<Dim>& y_shape);

/// y from the exact sums of an operator whose last axis is the channel. Errors: a sum that does not
/// fit 32 bits.
struct EpilogueInputs {
  const Tensor* multiplier = nullptr; ///< f32, one or one for each channel; null: `factor`
  float factor = 1;
  const Tensor* bias = nullptr;     ///< f32 or i32, one for each channel; null: none
  const Tensor* residual = nullptr; ///< codes like y; null: none
};
Result<Tensor> apply_epilogue(const EpilogueAttrs& attrs,
                              const EpilogueInputs& inputs,
                              std::span<const int64_t> sums,
                              Shape y_shape);

/// A function of each float, behind the epilogue that makes them: attributes program, constants and,
/// where `to` is codes, y_scale.
struct EpilogueFunction {
  numerics::Program program;
  float scale = 1;
};
/// nullopt: there is no program. Errors: what parse_program finds; a scale that is not above 0; a
/// function where `to` is i32 or beside a residual.
Result<std::optional<EpilogueFunction>>
parse_function(const Node& node, const EpilogueAttrs& attrs, bool has_residual);

/// apply_epilogue to f32, then the function, then QuantizeLinear within [lo, hi] to `attrs.to`.
Result<Tensor> apply_function(const EpilogueFunction& function,
                              const EpilogueAttrs& attrs,
                              const EpilogueInputs& inputs,
                              std::span<const int64_t> sums,
                              Shape y_shape);

/// The codes of a tensor with the zero point that attribute `key` holds subtracted.
Result<std::vector<int32_t>>
centered_codes(const Node& node, std::string_view key, const Tensor& codes);
/// The codes of weights, whose zero point is 0.
Result<std::vector<int32_t>> weight_codes(const Tensor& codes);

/// Exact sum of products; K runs fastest in both.
inline int64_t dot(const int32_t* x, const int32_t* w, int64_t k) {
  int64_t sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum += static_cast<int64_t>(x[i]) * w[i];
  return sum;
}

QuantTrait is_lowered(const Node& node, std::span<const InputInfo> inputs);

} // namespace octet::native
