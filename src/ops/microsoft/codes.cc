// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/codes.h"

#include <algorithm>

#include "core/format.h"
#include "core/numerics/round.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/movement.h"

namespace octet::ms {

Status check_scale(const InferContext& ctx, size_t scale) {
  OCTET_TRY(check_input(ctx, scale, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_scalar(ctx, scale));
  OCTET_TRY(check_optional(ctx, scale + 1, kCodeTypes));
  return check_scalar(ctx, scale + 1);
}

Status check_codes(const InferContext& ctx, size_t x) {
  OCTET_TRY(check_input(ctx, x, kCodeTypes));
  OCTET_TRY(check_scale(ctx, x + 1));
  const DType type = ctx.input(x).type.type;
  const DType zero = ctx.has(x + 2) ? ctx.input(x + 2).type.type : type;
  if (type != DType::kUndefined && zero != DType::kUndefined && type != zero)
    return error("input {} has type {} and its zero point {}; make them equal", x, name(type),
                 name(zero));
  return ok_status();
}

DType output_type(const InferContext& ctx, size_t scale, DType otherwise) {
  return ctx.has(scale + 1) ? ctx.input(scale + 1).type.type : otherwise;
}

Result<std::vector<double>> dequantized(const Tensor& codes, double scale, double zero) {
  auto values = OCTET_TRY(codes.to_doubles());
  for (double& v : values)
    v = (v - zero) * scale;
  return values;
}

Result<Tensor>
quantized(DType type, Shape shape, std::span<const double> values, float scale, int32_t zero) {
  const auto range = code_range(type);
  if (!range) return error("codes of type {} are not 8-bit integers", name(type));
  std::vector<double> codes;
  codes.reserve(values.size());
  for (const double v : values)
    codes.push_back(numerics::round_saturate(static_cast<float>(v / static_cast<double>(scale)),
                                             zero, range->lo, range->hi));
  return Tensor::from_doubles(type, std::move(shape), codes);
}

Result<std::vector<double>> read_codes(const EvalContext& ctx, size_t x) {
  return dequantized(ctx.inputs[x], ctx.inputs[x + 1].at(0),
                     ctx.has(x + 2) ? ctx.inputs[x + 2].at(0) : 0);
}

Result<Tensor> write_codes(
    const EvalContext& ctx, size_t scale, DType type, Shape shape, std::span<const double> values) {
  const auto zero = ctx.has(scale + 1) ? static_cast<int32_t>(ctx.inputs[scale + 1].at(0)) : 0;
  return quantized(type, std::move(shape), values, static_cast<float>(ctx.inputs[scale].at(0)),
                   zero);
}

Result<std::vector<OutputInfo>> infer_unary_codes(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 4, 5));
  OCTET_TRY(check_codes(ctx, 0));
  OCTET_TRY(check_scale(ctx, 3));
  const TypeInfo& x = ctx.input(0).type;
  return one(output_type(ctx, 3, x.type), x.shape);
}

Result<std::vector<Tensor>>
eval_unary_codes(InferFn* infer, const EvalContext& ctx, const std::function<double(double)>& f) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  auto values = OCTET_TRY(read_codes(ctx, 0));
  std::transform(values.begin(), values.end(), values.begin(), f);
  return one(OCTET_TRY(write_codes(ctx, 3, outputs[0].type.type, ctx.inputs[0].shape(), values)));
}

Result<std::vector<OutputInfo>> infer_binary_codes(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 7, 8));
  OCTET_TRY(check_codes(ctx, 0));
  OCTET_TRY(check_codes(ctx, 3));
  OCTET_TRY(check_scale(ctx, 6));
  const TypeInfo& a = ctx.input(0).type;
  const TypeInfo& b = ctx.input(3).type;
  const DType type = output_type(ctx, 6, a.type);
  if (!a.has_rank() || !b.has_rank()) return one(type, std::nullopt);
  return one(type, OCTET_TRY(broadcast_dims(std::vector<std::vector<Dim>>{*a.shape, *b.shape})));
}

Result<std::vector<Tensor>> eval_binary_codes(InferFn* infer,
                                              const EvalContext& ctx,
                                              const std::function<double(double, double)>& f) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto a = OCTET_TRY(read_codes(ctx, 0)), b = OCTET_TRY(read_codes(ctx, 3));
  const auto from_a = broadcast_index(ctx.inputs[0].shape(), shape);
  const auto from_b = broadcast_index(ctx.inputs[3].shape(), shape);
  std::vector<double> y;
  for (size_t i = 0; i < from_a.size(); ++i)
    y.push_back(f(a[static_cast<size_t>(from_a[i])], b[static_cast<size_t>(from_b[i])]));
  return one(OCTET_TRY(write_codes(ctx, 6, outputs[0].type.type, shape, y)));
}

QuantTrait is_quantized_already(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("the operator works on codes already");
}

} // namespace octet::ms
