// SPDX-License-Identifier: Apache-2.0
// BitShift (opset 11). c = a << b or a >> b by direction, with broadcasting; a shift by the type's
// width or more gives 0.
#include "core/format.h"
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_BitShift {
namespace {

struct BitShiftAttrs {
  bool left = false;
};

Result<BitShiftAttrs> parse(const Node& node) {
  const std::string direction = node.attr_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return error("direction is \"{}\"; use LEFT or RIGHT", direction);
  return BitShiftAttrs{.left = direction == "LEFT"};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(parse(ctx.node));
  return infer_binary(ctx, kUnsignedTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const BitShiftAttrs a = OCTET_TRY(parse(ctx.node));
  return eval_binary(infer, ctx,
                     {.real = {}, .integer = {}, .natural = [a](uint64_t x, uint64_t by) {
                        if (by >= 64) return uint64_t{0};
                        return a.left ? x << by : x >> by;
                      }});
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_BitShift
