// SPDX-License-Identifier: Apache-2.0
// QLinearMatMul (opset 10, 21). Inputs a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale,
// y_zero_point. y = saturate(round_half_even(acc * m) + y_zero) with the exact sum acc and
// m = a_scale * b_scale / y_scale taken in double. Scales of a: one or one for each row; of b: one
// or one for each column.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/matrix_product.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_QLinearMatMul {
namespace {

constexpr TypeSet kBytes{DType::kInt8,           DType::kUint8,      DType::kFloat8E4M3FN,
                         DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 8, 8));
  for (size_t i : {0, 2, 3, 5, 7})
    OCTET_TRY(check_input(c, i, kBytes));
  for (size_t i : {1, 4, 6})
    OCTET_TRY(check_input(c, i, {DType::kFloat32, DType::kFloat16, DType::kBfloat16}));
  for (size_t i : {0, 3, 7})
    if (is_float(c.input(i).type.type))
      return error("input {} has type {}; octet runs this operator on int8 and uint8 only", i,
                   name(c.input(i).type.type));
  return one(c.input(7).type.type, OCTET_TRY(matmul_shape(c.input(0).type, c.input(3).type)));
}

/// The scale of a row or column: one for all, or its own.
Result<std::vector<double>> scales(const Tensor& scale, int64_t channels) {
  auto s = OCTET_TRY(scale.to_doubles());
  if (s.size() == 1) s.assign(static_cast<size_t>(channels), s[0]);
  if (static_cast<int64_t>(s.size()) != channels)
    return error("{} scales for {} channels; give one or as many", s.size(), channels);
  return s;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto a = OCTET_TRY(centered_operand(c.inputs[0], c.inputs[2], MatrixSide::kLeft));
  const auto b = OCTET_TRY(centered_operand(c.inputs[3], c.inputs[5], MatrixSide::kRight));
  const auto sizes = matmul_sizes(c.inputs[0].shape(), c.inputs[3].shape());
  const auto row_scales = OCTET_TRY(scales(c.inputs[1], sizes.m));
  const auto column_scales = OCTET_TRY(scales(c.inputs[4], sizes.n));
  if (c.inputs[6].count() != 1 || c.inputs[7].count() != 1)
    return Error("scale and zero point of the output must be scalars");
  const double y_scale = c.inputs[6].at(0), zero = c.inputs[7].at(0);
  const auto range = *code_range(outputs[0].type.type);
  const auto sums = matmul(sizes, a.data(), b.data());
  std::vector<double> y(sums.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const auto row = i / static_cast<size_t>(sizes.n) % static_cast<size_t>(sizes.m);
    const double m = row_scales[row] * column_scales[i % static_cast<size_t>(sizes.n)] / y_scale;
    const double r = std::nearbyint(static_cast<double>(sums[i]) * m);
    y[i] = std::clamp((std::isnan(r) ? 0.0 : r) + zero, static_cast<double>(range.lo),
                      static_cast<double>(range.hi));
  }
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : Role::kConstant;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("is already an integer product");
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true, .unchanged = true},
};

} // namespace octet::onnx::op_QLinearMatMul
