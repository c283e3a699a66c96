// SPDX-License-Identifier: Apache-2.0
// What the QLinear operators of com.microsoft share: tensors of 8-bit codes with one scale and one
// zero point each, in three inputs that follow each other (the zero point may be omitted).
// Source: ONNX Runtime, docs/ContribOperators.md.
#pragma once

#include "ops/shared/validate.h"

namespace octet::ms {

inline constexpr TypeSet kCodeTypes{DType::kInt8, DType::kUint8};

/// Inputs x, x + 1 (scale) and x + 2 (zero point, of the codes' type).
Status check_codes(const InferContext& ctx, size_t x);
/// The same for inputs that say how an output is quantized: scale and zero point.
Status check_scale(const InferContext& ctx, size_t scale);
/// The type of an output's codes: its zero point's, or `otherwise`.
DType output_type(const InferContext& ctx, size_t scale, DType otherwise);

/// (codes - zero point) * scale. Errors: codes that cannot be read.
Result<std::vector<double>> read_codes(const EvalContext& ctx, size_t x);
/// QuantizeLinear with the scale and zero point of two inputs.
Result<Tensor> write_codes(
    const EvalContext& ctx, size_t scale, DType type, Shape shape, std::span<const double> values);

/// QuantizeLinear of values, and (codes - zero point) * scale.
Result<Tensor>
quantized(DType type, Shape shape, std::span<const double> values, float scale, int32_t zero = 0);
Result<std::vector<double>> dequantized(const Tensor& codes, double scale, double zero = 0);

/// An operator of one tensor: x, its scale and zero point, the output's. `f` works on values.
Result<std::vector<OutputInfo>> infer_unary_codes(const InferContext& ctx);
Result<std::vector<Tensor>>
eval_unary_codes(InferFn* infer, const EvalContext& ctx, const std::function<double(double)>& f);
/// An operator of two tensors that broadcast: a, b, and the output's scale and zero point.
Result<std::vector<OutputInfo>> infer_binary_codes(const InferContext& ctx);
Result<std::vector<Tensor>> eval_binary_codes(InferFn* infer,
                                              const EvalContext& ctx,
                                              const std::function<double(double, double)>& f);
/// None: the operator is quantized already.
QuantTrait is_quantized_already(const Node& node, std::span<const InputInfo> inputs);

} // namespace octet::ms
