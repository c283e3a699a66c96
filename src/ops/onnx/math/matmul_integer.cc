// SPDX-License-Identifier: Apache-2.0
// MatMulInteger (opset 10). The exact product of a - a_zero_point and b - b_zero_point, i32; a sum
// beyond 32 bits wraps. a_zero_point: scalar or one for each row; b_zero_point: scalar or one for
// each column; of higher rank they hold one vector for each matrix.
#include <algorithm>

#include "ops/shared/matrix_product.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_MatMulInteger {
namespace {

constexpr TypeSet kBytes{DType::kInt8, DType::kUint8};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 4));
  for (size_t i = 0; i < 4; ++i)
    OCTET_TRY(check_optional(c, i, kBytes));
  return one(DType::kInt32, OCTET_TRY(matmul_shape(c.input(0).type, c.input(1).type)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto a = OCTET_TRY(
      centered_operand(c.inputs[0], c.has(2) ? c.inputs[2] : Tensor(), MatrixSide::kLeft));
  const auto b = OCTET_TRY(
      centered_operand(c.inputs[1], c.has(3) ? c.inputs[3] : Tensor(), MatrixSide::kRight));
  const auto sums =
      matmul(matmul_sizes(c.inputs[0].shape(), c.inputs[1].shape()), a.data(), b.data());
  std::transform(sums.begin(), sums.end(), y.mutable_data<int32_t>().begin(),
                 [](int64_t v) { return static_cast<int32_t>(v); });
  return one(std::move(y));
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

} // namespace octet::onnx::op_MatMulInteger
