// SPDX-License-Identifier: Apache-2.0
// octet.native QDynamicGemm (1). x: [.., K] f32, w: [N, K] i8, w_scale: f32 [N] or [1], bias: f32
// [N]. Each row of x is quantized by itself, symmetric int8: the result of a row does not depend on
// its neighbours. Attributes: min, max. docs/native-operators.md, docs/numerics.md.
#include <limits>

#include "core/numerics/dynamic.h"
#include "core/numerics/epilogue.h"
#include "ops/native/rows_product.h"

namespace octet::native::op_QDynamicGemm {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 4));
  OCTET_TRY(check_input(c, 0, kF32));
  OCTET_TRY(check_input(c, 1, {DType::kInt8}));
  OCTET_TRY(check_input(c, 2, kF32));
  OCTET_TRY(check_optional(c, 3, kF32));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  OCTET_TRY(check_rank(c, 1, 2, 2));
  auto shape = OCTET_TRY(rows_shape(c.input(0).type, c.input(1).type));
  if (shape) OCTET_TRY(check_channel_scales(c, 2, 3, shape->back()));
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto w = OCTET_TRY(weight_codes(c.inputs[1]));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  const auto w_scale = OCTET_TRY(c.inputs[2].to_floats());
  const int64_t n = c.inputs[1].dim(0), k = c.inputs[1].dim(1);
  std::vector<float> bias(static_cast<size_t>(n), 0.0F);
  if (c.has(3)) bias = OCTET_TRY(c.inputs[3].to_floats());
  const float min = c.node.attr_float("min", -kInf), max = c.node.attr_float("max", kInf);
  std::vector<int32_t> q(static_cast<size_t>(k));
  auto out = y.mutable_data<float>();
  for (size_t at = 0; at < out.size(); at += static_cast<size_t>(n)) {
    const auto row = std::span(x).subspan(at / static_cast<size_t>(n) * q.size(), q.size());
    const float scale = numerics::row_scale(row);
    for (size_t i = 0; i < q.size(); ++i)
      q[i] = numerics::quantize(row[i], scale, 0, -128, 127);
    for (int64_t j = 0; j < n; ++j) {
      const auto channel = static_cast<size_t>(j);
      const float m = scale * w_scale[w_scale.size() == 1 ? 0 : channel];
      const int64_t acc = dot(q.data(), w.data() + j * k, k);
      if (static_cast<int32_t>(acc) != acc)
        return Error("a sum does not fit 32 bits; split the layer");
      out[at + channel] =
          numerics::scale_to_float(static_cast<int32_t>(acc), m, bias[channel], min, max);
    }
  }
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::native::op_QDynamicGemm
