// SPDX-License-Identifier: Apache-2.0
// ConvInteger (opset 10). The exact convolution of x - x_zero_point with w - w_zero_point, i32; a
// sum beyond 32 bits wraps. w_zero_point is a scalar or one for each output channel.
#include "ops/qdq/quant_layout.h"
#include "ops/shared/convolution.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_ConvInteger {
namespace {

constexpr TypeSet kBytes{DType::kInt8, DType::kUint8};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 4));
  for (size_t i = 0; i < 4; ++i)
    OCTET_TRY(check_optional(c, i, kBytes));
  OCTET_TRY(check_rank(c, 2, 0, 1));
  OCTET_TRY(check_rank(c, 3, 0, 1));
  return one(DType::kInt32, OCTET_TRY(conv_shape(c.node, c.input(0).type, c.input(1).type)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto sizes =
      OCTET_TRY(conv_sizes(c.node, c.inputs[0].shape(), c.inputs[1].shape(), y.shape()));
  auto x = OCTET_TRY(c.inputs[0].to_ints());
  auto w = OCTET_TRY(c.inputs[1].to_ints());
  if (c.has(2)) OCTET_TRY(subtract_zero_points(x, c.inputs[2], 1));
  if (c.has(3)) OCTET_TRY(subtract_zero_points(w, c.inputs[3], sizes.out_channels));
  std::vector<int64_t> sums(static_cast<size_t>(y.count()));
  convolve(sizes, x.data(), w.data(), sums.data());
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

} // namespace octet::onnx::op_ConvInteger
