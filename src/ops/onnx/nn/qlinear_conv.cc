// SPDX-License-Identifier: Apache-2.0
// QLinearConv (opset 10). Inputs x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale,
// y_zero_point, b (i32, scale x_scale * w_scale). y = saturate(round_half_even(acc * m) + y_zero)
// with the exact sum acc and m = x_scale * w_scale / y_scale, the product taken in double.
#include <cmath>

#include "core/format.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/convolution.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_QLinearConv {
namespace {

constexpr TypeSet kBytes{DType::kInt8, DType::kUint8};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 8, 9));
  for (size_t i : {0, 2, 3, 5, 7})
    OCTET_TRY(check_input(c, i, kBytes));
  for (size_t i : {1, 4, 6})
    OCTET_TRY(check_input(c, i, {DType::kFloat32}));
  OCTET_TRY(check_optional(c, 8, {DType::kInt32}));
  for (size_t i : {1, 2, 4, 5, 6, 7})
    OCTET_TRY(check_rank(c, i, 0, 1));
  auto shape = OCTET_TRY(conv_shape(c.node, c.input(0).type, c.input(3).type));
  if (shape) OCTET_TRY(check_vector(c, 8, (*shape)[1], "bias elements and output channels"));
  return one(c.input(7).type.type, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto sizes = OCTET_TRY(conv_sizes(c.node, c.inputs[0].shape(), c.inputs[3].shape(), shape));
  auto x = OCTET_TRY(c.inputs[0].to_ints());
  auto w = OCTET_TRY(c.inputs[3].to_ints());
  OCTET_TRY(subtract_zero_points(x, c.inputs[2], 1));
  OCTET_TRY(subtract_zero_points(w, c.inputs[5], sizes.out_channels));
  const int64_t channel_scales = c.inputs[4].count();
  if (channel_scales != 1 && channel_scales != sizes.out_channels)
    return error("{} weight scales for {} output channels; give one or as many", channel_scales,
                 sizes.out_channels);
  if (c.inputs[1].count() != 1 || c.inputs[6].count() != 1 || c.inputs[7].count() != 1)
    return Error("scales and zero points of input and output must be scalars");
  std::vector<int64_t> sums(static_cast<size_t>(OCTET_TRY(element_count(shape))));
  convolve(sizes, x.data(), w.data(), sums.data());
  const auto range = *code_range(outputs[0].type.type);
  const double zero = c.inputs[7].at(0);
  std::vector<double> y(sums.size());
  const auto plane = static_cast<size_t>(sizes.window.out_count());
  for (size_t i = 0; i < y.size(); ++i) {
    const auto channel = static_cast<int64_t>(i / plane) % sizes.out_channels;
    const double m =
        c.inputs[1].at(0) * c.inputs[4].at(channel_scales == 1 ? 0 : channel) / c.inputs[6].at(0);
    const double acc = static_cast<double>(sums[i]) + (c.has(8) ? c.inputs[8].at(channel) : 0.0);
    const double r = std::nearbyint(acc * m);
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

} // namespace octet::onnx::op_QLinearConv
