// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/random.h"

#include <bit>

#include "core/format.h"

namespace octet {

Philox generator_of(const EvalContext& ctx) {
  if (!ctx.node.has_attr("seed")) return Philox(ctx.seed);
  return Philox(std::bit_cast<uint32_t>(ctx.node.attr_float("seed", 0)));
}

Result<DType> drawn_type(const Node& node, DType otherwise, TypeSet allowed) {
  if (!node.has_attr("dtype")) return otherwise;
  const int64_t code = node.attr_int("dtype", 0);
  for (const DType type : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64,
                           DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                           DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64})
    if (code == static_cast<int64_t>(type) && allowed.has(type)) return type;
  return error("dtype is {}; it takes {}", code, allowed.text());
}

Result<std::vector<OutputInfo>> infer_random(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 0, 0));
  const DType type = OCTET_TRY(drawn_type(ctx.node, DType::kFloat32, kFloatTypes));
  const Shape shape = ctx.node.attr_ints("shape");
  OCTET_TRY(element_count(shape));
  return one(tensor_type(type, shape));
}

Result<std::vector<OutputInfo>> infer_random_like(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  TypeInfo y = ctx.input(0).type;
  y.type = OCTET_TRY(drawn_type(ctx.node, y.type, kFloatTypes));
  if (y.type != DType::kUndefined && !kFloatTypes.has(y.type))
    return error("the input is {} and dtype is not given; give a floating type", name(y.type));
  return one(y);
}

Result<std::vector<Tensor>>
eval_random(InferFn* infer, const EvalContext& ctx, Distribution distribution) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  Philox generator = generator_of(ctx);
  const double mean = ctx.node.attr_float("mean", 0), scale = ctx.node.attr_float("scale", 1);
  const double low = ctx.node.attr_float("low", 0), high = ctx.node.attr_float("high", 1);
  std::vector<double> values(static_cast<size_t>(product(shape)));
  for (double& v : values)
    v = distribution == Distribution::kNormal ? mean + scale * generator.normal()
                                              : generator.uniform(low, high);
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, values)));
}

} // namespace octet
