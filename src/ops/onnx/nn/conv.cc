// SPDX-License-Identifier: Apache-2.0
// Conv (opset 1 to 22), one to three spatial axes. x: [N, C, D...], w: [O, C / group, k...],
// b: [O]; y[n, o, p] = b[o] + sum of w[o, c, t] * x[n, c, p * stride + t * dilation - pad].
#include "ops/shared/convolution.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Conv {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_optional(c, i, kFloatTypes));
  const DType type = OCTET_TRY(common_type(c, 0, c.inputs.size() - 1));
  auto shape = OCTET_TRY(conv_shape(c.node, c.input(0).type, c.input(1).type));
  if (shape) OCTET_TRY(check_vector(c, 2, (*shape)[1], "bias elements and output channels"));
  return one(type, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto sizes = OCTET_TRY(conv_sizes(c.node, c.inputs[0].shape(), c.inputs[1].shape(), shape));
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const auto w = OCTET_TRY(c.inputs[1].to_doubles());
  std::vector<double> y(static_cast<size_t>(OCTET_TRY(element_count(shape))));
  if (c.has(2)) {
    const auto bias = OCTET_TRY(c.inputs[2].to_doubles());
    const auto plane = static_cast<size_t>(sizes.window.out_count());
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = bias[i / plane % bias.size()];
  }
  convolve(sizes, x.data(), w.data(), y.data());
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : input == 1 ? Role::kWeight : Role::kBias;
}

QuantTrait quant(const Node&, std::span<const InputInfo> inputs) {
  QuantTrait t;
  if (inputs.size() < 2 || inputs[1].constant == nullptr) {
    t.kind = QuantTrait::Kind::kProduct;
    t.inputs = {0, 1};
    return t;
  }
  t.kind = QuantTrait::Kind::kWeighted;
  t.inputs = {0};
  t.weight = 1;
  t.weight_axis = 0;
  if (inputs.size() > 2 && inputs[2].present) t.bias = 2;
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

} // namespace octet::onnx::op_Conv
