// SPDX-License-Identifier: Apache-2.0
// MatMul (opset 1 to 13). y = a @ b as numpy.matmul; leading dimensions broadcast.
#include "core/codec.h"
#include "core/convert.h"
#include "ops/shared/matrix_product.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_MatMul {
namespace {

constexpr TypeSet kTypes =
    kFloatTypes | TypeSet{DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kTypes));
  OCTET_TRY(check_input(c, 1, kTypes));
  const DType type = OCTET_TRY(common_type(c, 0, 1));
  return one(type, OCTET_TRY(matmul_shape(c.input(0).type, c.input(1).type)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const DType type = outputs[0].type.type;
  const auto sizes = matmul_sizes(c.inputs[0].shape(), c.inputs[1].shape());
  if (is_float(type)) {
    const auto a = OCTET_TRY(c.inputs[0].to_doubles());
    const auto b = OCTET_TRY(c.inputs[1].to_doubles());
    return one(OCTET_TRY(rounded(type, shape, matmul(sizes, a.data(), b.data()))));
  }
  // Integers wrap: the low bits of a sum do not depend on the sign.
  const auto a = OCTET_TRY(c.inputs[0].to_ints());
  const auto b = OCTET_TRY(c.inputs[1].to_ints());
  const std::vector<uint64_t> left(a.begin(), a.end()), right(b.begin(), b.end());
  const auto y = matmul(sizes, left.data(), right.data());
  const std::vector<int64_t> bits(y.begin(), y.end());
  Tensor out = OCTET_TRY(Tensor::zeros(type, shape));
  OCTET_TRY(write_ints(type, bits, out.mutable_bytes(), Saturate::kNo));
  return one(std::move(out));
}

Role roles(const Node&, size_t) {
  return Role::kWeight;
}

QuantTrait quant(const Node&, std::span<const InputInfo> inputs) {
  QuantTrait t;
  if (inputs.size() < 2 || inputs[1].constant == nullptr) {
    t.kind = QuantTrait::Kind::kProduct;
    t.inputs = {0, 1};
    return t;
  }
  if (inputs[1].constant->rank() < 2)
    return QuantTrait::none("the product with a vector has no output channels");
  t.kind = QuantTrait::Kind::kWeighted;
  t.inputs = {0};
  t.weight = 1;
  t.weight_axis = inputs[1].constant->rank() - 1;
  return t;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_MatMul
