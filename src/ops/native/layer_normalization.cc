// SPDX-License-Identifier: Apache-2.0
// octet.native LayerNormalization (1), f32, over the last axis: x, gain [K], bias [K] (optional),
// residual like x (optional), which is added to x first; attribute epsilon. numerics::layer_norm_row
// of core/numerics/reduce.h. Outputs, as attributes ask for them: the numbers (`floats`, 1), the sum
// x + residual (`sum`, 0), and for each of `scales` codes, as Quantize with that of `zero_points` and
// `to`.
#include "ops/native/layer_normalization.h"

#include "core/format.h"
#include "core/numerics/reduce.h"
#include "core/numerics/round.h"
#include "ops/native/unary.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/normalization.h"

namespace octet::native {

Result<LayerNormOutputs> parse_layer_norm(const Node& node) {
  LayerNormOutputs out;
  out.floats = node.attr_int("floats", 1) != 0;
  out.sum = node.attr_int("sum", 0) != 0;
  const std::vector<float> scales = node.attr_floats("scales");
  const std::vector<int64_t> zeros = node.attr_ints("zero_points"), types = node.attr_ints("to");
  if (scales.size() > LayerNormOutputs::kMaxCodes)
    return error("{} scales; use up to {}", scales.size(), LayerNormOutputs::kMaxCodes);
  if (zeros.size() != scales.size() || types.size() != scales.size())
    return error("{} scales, {} zero_points and {} types in `to`; give as many of each",
                 scales.size(), zeros.size(), types.size());
  out.codes.reserve(scales.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    const auto to = static_cast<DType>(types[i]);
    if (!kCodes.has(to)) return error("to {}; use i8 (3) or u8 (2)", types[i]);
    const CodeRange range = *code_range(to);
    if (zeros[i] < range.lo || zeros[i] > range.hi)
      return error("zero point {} is no code of {}, {} to {}", zeros[i], name(to), range.lo,
                   range.hi);
    out.codes.push_back({scales[i], static_cast<int32_t>(zeros[i]), to});
  }
  if (!out.floats && !out.sum && out.codes.empty())
    return Error("it has no outputs; ask for floats or codes");
  return out;
}

} // namespace octet::native

namespace octet::native::op_LayerNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 4));
  for (size_t i = 0; i < 4; ++i)
    OCTET_TRY(check_optional(c, i, kF32));
  OCTET_TRY(check_present(c, 1));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  const auto outputs = OCTET_TRY(parse_layer_norm(c.node));
  if (outputs.sum && !c.has(3)) return Error("a sum without a residual; give input 3");
  const TypeInfo& x = c.input(0).type;
  if (x.has_rank()) {
    OCTET_TRY(check_vector(c, 1, x.shape->back(), "gains and elements of a row"));
    OCTET_TRY(check_vector(c, 2, x.shape->back(), "bias elements and elements of a row"));
    if (c.has(3) && c.input(3).type.has_rank()) {
      OCTET_TRY(check_rank(c, 3, x.rank(), x.rank()));
      for (size_t i = 0; i < x.shape->size(); ++i)
        OCTET_TRY(
            merge_dims((*x.shape)[i], (*c.input(3).type.shape)[i], "sizes of x and residual"));
    }
  }
  std::vector<OutputInfo> out = one(x);
  out.resize(size_t{outputs.floats} + size_t{outputs.sum}, out[0]);
  for (const LayerNormOutputs::Codes& codes : outputs.codes)
    out.push_back(one(codes.to, x.shape)[0]);
  return out;
}

/// QuantizeLinear of each.
Result<Tensor> quantized(const LayerNormOutputs::Codes& codes, const Tensor& y) {
  Tensor out = OCTET_TRY(Tensor::zeros(codes.to, y.shape()));
  const CodeRange range = *code_range(codes.to);
  const auto from = y.data<float>();
  const auto bytes = out.mutable_bytes();
  for (size_t i = 0; i < from.size(); ++i)
    bytes[i] = static_cast<std::byte>(
        numerics::quantize(from[i], codes.scale, codes.zero, range.lo, range.hi));
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const auto outputs = OCTET_TRY(parse_layer_norm(c.node));
  Tensor sum = c.inputs[0].aligned();
  if (c.has(3)) {
    const auto residual = OCTET_TRY(c.inputs[3].to_floats());
    sum = OCTET_TRY(Tensor::zeros(DType::kFloat32, c.inputs[0].shape()));
    const auto x = OCTET_TRY(c.inputs[0].to_floats());
    for (size_t i = 0; i < x.size(); ++i)
      sum.mutable_data<float>()[i] = x[i] + residual[i];
  }
  Tensor y = OCTET_TRY(Tensor::zeros(DType::kFloat32, sum.shape()));
  const auto x = std::as_const(sum).data<float>();
  const auto gain = OCTET_TRY(c.inputs[1].to_floats());
  std::vector<float> bias;
  if (c.has(2)) bias = OCTET_TRY(c.inputs[2].to_floats());
  const auto row = static_cast<size_t>(y.shape().back());
  const float epsilon = c.node.attr_float("epsilon", 1e-5F);
  float* out = y.mutable_data<float>().data();
  for (size_t at = 0; at < x.size(); at += row)
    numerics::layer_norm_row(x.data() + at, static_cast<int64_t>(row), gain.data(),
                             bias.empty() ? nullptr : bias.data(), epsilon, out + at);
  std::vector<Tensor> made;
  if (outputs.floats) made.push_back(y);
  if (outputs.sum) made.push_back(sum);
  for (const LayerNormOutputs::Codes& codes : outputs.codes)
    made.push_back(OCTET_TRY(quantized(codes, y)));
  return made;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_LayerNormalization
