// SPDX-License-Identifier: Apache-2.0
// BitCast (opset 26). The bits of x read as another type of the same width.
#include "core/format.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_BitCast {
namespace {

struct BitCastAttrs {
  DType to = DType::kUndefined;
};

Result<BitCastAttrs> parse(const Node& node) {
  const int64_t code = node.attr_int("to", 0);
  if (code <= 0 || code > INT32_MAX || !is_valid(static_cast<int32_t>(code)))
    return error("to is {}; it must be an element type of TensorProto", code);
  return BitCastAttrs{.to = static_cast<DType>(code)};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  const DType to = OCTET_TRY(parse(ctx.node)).to;
  if (bits(to) == 0 || (x.type != DType::kUndefined && bits(x.type) != bits(to)))
    return error("x is {} and to is {}; their widths must agree", name(x.type), name(to));
  return one(to, x.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const BitCastAttrs a = OCTET_TRY(parse(ctx.node));
  return one(OCTET_TRY(ctx.inputs[0].bitcast(a.to)));
}

} // namespace

extern const OpFacets facets = {
    .since = 26,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_BitCast
