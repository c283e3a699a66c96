// SPDX-License-Identifier: Apache-2.0
// Cast (opset 6). y = x converted to the element type `to`; saturate (opset 19) is about types of
// at most 8 bits, round_mode (opset 24) about f8e8m0. Shape computations pass through.
#include "core/format.h"
#include "ops/shared/cast_util.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Cast {
namespace {

struct CastAttrs {
  DType to = DType::kUndefined;
  CastOptions options;
};

Result<CastAttrs> parse(const Node& node) {
  const int64_t code = node.attr_int("to", 0);
  if (code <= 0 || code > INT32_MAX || !is_valid(static_cast<int32_t>(code)))
    return error("to is {}; it must be an element type of TensorProto", code);
  return CastAttrs{.to = static_cast<DType>(code), .options = OCTET_TRY(parse_cast_options(node))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  const CastAttrs a = OCTET_TRY(parse(ctx.node));
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  auto outputs = one(a.to, ctx.input(0).type.shape);
  outputs[0].value = cast_dims(ctx.input(0), a.to);
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const CastAttrs a = OCTET_TRY(parse(ctx.node));
  return one(OCTET_TRY(cast(ctx.inputs[0], a.to, a.options)));
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("a Cast states its types itself");
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = quant,
    .motion = moves_first<Motion::Kind::kCast>,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Cast
