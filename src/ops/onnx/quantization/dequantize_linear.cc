// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear (opset 10 to 28). y = (x - zero_point) * scale, per tensor, per axis or in
// blocks. The difference is exact, is rounded to float, and the product is rounded once to the
// output type. Source: ONNX operator text; docs/numerics.md "Quantize and dequantize".
#include "core/format.h"
#include "ops/qdq/quant_layout.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_DequantizeLinear {
namespace {

struct DequantizeLinearAttrs {
  int64_t axis = 1, block_size = 0;
  DType output = DType::kUndefined; ///< kUndefined: the type of the scale
};

DequantizeLinearAttrs parse(const Node& node) {
  return {node.attr_int("axis", 1), node.attr_int("block_size", 0),
          static_cast<DType>(node.attr_int("output_dtype", 0))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  const auto a = parse(c.node);
  const DType type = c.input(0).type.type, scale = c.input(1).type.type;
  if (type != DType::kUndefined && type != DType::kInt32 && !is_quantized(type))
    return error("input 0 has type {}, which is not a quantized type; connect codes", name(type));
  OCTET_TRY(
      check_input(c, 1, {DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kFloat8E8M0}));
  const DType zero = c.has(2) ? c.input(2).type.type : DType::kUndefined;
  if (zero != DType::kUndefined && type != DType::kUndefined && zero != type)
    return error("the codes have type {} and the zero point {}; make them equal", name(type),
                 name(zero));
  if (c.version < 13 && c.input(1).type.has_rank() && c.input(1).type.rank() > 1)
    return error("a scale of rank {} before opset 13; use a scalar", c.input(1).type.rank());
  OCTET_TRY(check_quant_layout(c.input(0).type, c.input(1).type, a.axis, a.block_size));
  if (c.has(2))
    OCTET_TRY(check_quant_layout(c.input(0).type, c.input(2).type, a.axis, a.block_size));
  TypeInfo out = c.input(0).type;
  out.type = a.output != DType::kUndefined ? a.output
             : scale == DType::kFloat8E8M0 ? DType::kFloat32
                                           : scale;
  return one(std::move(out));
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
  size_t at = 0;
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 0; k < l.axis_size; ++k)
      for (int64_t i = 0; i < l.inner; ++i, ++at) {
        const auto s = static_cast<size_t>(l.scale_index(o, k, i));
        x[at] = static_cast<double>(static_cast<float>(x[at] - zero[s])) * scale[s];
      }
  return one(OCTET_TRY(rounded(outputs[0].type.type, c.inputs[0].shape(), x)));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : Role::kConstant;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("is itself a step between codes and float");
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = dequantized_range,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_DequantizeLinear
