// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear (opset 10 to 28). Integers: y = saturate(round_half_even(x / scale) + zero_point),
// a true division in the type of the scale (or `precision`), the zero point added after rounding;
// NaN gives the zero point. FP8, FP6 and FP4: the quotient is cast, rounding half to even.
// Source: ONNX operator text; docs/numerics.md "Quantize and dequantize".
#include <algorithm>
#include <cmath>

#include "core/codec.h"
#include "core/convert.h"
#include "core/format.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_QuantizeLinear {
namespace {

constexpr TypeSet kRealTypes{DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kInt32};

struct QuantizeLinearAttrs {
  int64_t axis = 1, block_size = 0;
  Saturate saturate = Saturate::kYes;
  DType output = DType::kUndefined;    ///< kUndefined: the zero point's type, else u8
  DType precision = DType::kUndefined; ///< kUndefined: the type of the scale
};

QuantizeLinearAttrs parse(const Node& node) {
  return {node.attr_int("axis", 1), node.attr_int("block_size", 0),
          node.attr_int("saturate", 1) != 0 ? Saturate::kYes : Saturate::kNo,
          static_cast<DType>(node.attr_int("output_dtype", 0)),
          static_cast<DType>(node.attr_int("precision", 0))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  const auto a = parse(c.node);
  OCTET_TRY(check_input(c, 0, kRealTypes));
  OCTET_TRY(check_input(c, 1, kRealTypes | TypeSet{DType::kFloat8E8M0}));
  if (c.version < 13 && c.input(1).type.has_rank() && c.input(1).type.rank() > 1)
    return error("a scale of rank {} before opset 13; use a scalar", c.input(1).type.rank());
  OCTET_TRY(check_quant_layout(c.input(0).type, c.input(1).type, a.axis, a.block_size));
  TypeInfo out = c.input(0).type;
  out.type = a.output != DType::kUndefined ? a.output : DType::kUint8;
  if (c.has(2)) {
    OCTET_TRY(check_quant_layout(c.input(0).type, c.input(2).type, a.axis, a.block_size));
    const DType zero = c.input(2).type.type;
    if (a.output != DType::kUndefined && zero != DType::kUndefined && zero != a.output)
      return error("output_dtype is {} and the zero point has type {}; make them equal",
                   name(a.output), name(zero));
    if (a.output == DType::kUndefined) out.type = zero;
  }
  if (out.type != DType::kUndefined && !is_quantized(out.type))
    return error("the output type {} is not a quantized type; use an integer of 2 to 16 bits, FP8, "
                 "FP6 or FP4",
                 name(out.type));
  return one(std::move(out));
}

/// x / scale, rounded once to `precision`. f32 divides f32 operands: other inputs are rounded to
/// it.
double divide(double x, double scale, DType precision) {
  if (precision == DType::kFloat64) return x / scale;
  if (const FloatFormat* format = float_format(precision))
    return decode(*format, encode(*format, x / scale, Saturate::kNo));
  return static_cast<double>(static_cast<float>(x) / static_cast<float>(scale));
}

double quantize(double quotient, double zero, CodeRange range) {
  const double r = std::isnan(quotient) ? 0.0 : std::nearbyint(quotient);
  return std::clamp(r + zero, static_cast<double>(range.lo), static_cast<double>(range.hi));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const auto a = parse(c.node);
  auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const auto scale = OCTET_TRY(c.inputs[1].to_doubles());
  const QuantLayout l =
      quant_layout(c.inputs[0].shape(), c.inputs[1].shape(), a.axis, a.block_size);
  std::vector<double> zero(scale.size(), 0.0);
  if (c.has(2)) {
    const auto given = OCTET_TRY(c.inputs[2].to_doubles());
    if (given.size() != scale.size() && given.size() != 1)
      return error("{} zero points for {} scales; give as many", given.size(), scale.size());
    for (size_t i = 0; i < zero.size(); ++i)
      zero[i] = given[given.size() == 1 ? 0 : i];
  }
  const DType type = outputs[0].type.type;
  const auto range = code_range(type);
  const DType precision = a.precision != DType::kUndefined ? a.precision : c.inputs[1].type();
  size_t at = 0;
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.axis_size; ++k)
      for (int64_t i = 0; i < l.inner; ++i, ++at) {
        const auto s = static_cast<size_t>(l.scale_index(o, k, i));
        const double quotient = divide(x[at], scale[s], precision);
        // A sum with 0 would make +0 of -0.
        x[at] = range          ? quantize(quotient, zero[s], *range)
                : zero[s] == 0 ? quotient
                               : quotient + zero[s];
      }
  Tensor y = OCTET_TRY(Tensor::zeros(type, c.inputs[0].shape()));
  OCTET_TRY(write_doubles(type, x, y.mutable_bytes(), a.saturate));
  return one(std::move(y));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : Role::kConstant;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("is itself a step between float and codes");
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
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_QuantizeLinear
