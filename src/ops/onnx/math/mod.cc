// SPDX-License-Identifier: Apache-2.0
// Mod (opset 10), with broadcasting. fmod = 0: the remainder has the sign of the divisor (integers
// only); fmod = 1: the sign of the dividend, as C's fmod. Integers modulo 0 give 0.
#include <cmath>

#include "core/format.h"
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Mod {
namespace {

struct ModAttrs {
  bool fmod = false;
};

ModAttrs parse(const Node& node) {
  return {.fmod = node.attr_int("fmod", 0) != 0};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  auto outputs = OCTET_TRY(infer_binary(ctx, kNumericTypes));
  if (is_float(outputs[0].type.type) && !parse(ctx.node).fmod)
    return error("fmod is 0 but the inputs are {}; floating types need fmod = 1",
                 name(outputs[0].type.type));
  return outputs;
}

int64_t remainder(int64_t a, int64_t b, bool sign_of_dividend) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return !sign_of_dividend && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const bool fmod = parse(ctx.node).fmod;
  return eval_binary(infer, ctx,
                     {.real = [](double a, double b) { return std::fmod(a, b); },
                      .integer = [fmod](int64_t a, int64_t b) { return remainder(a, b, fmod); },
                      .natural = [](uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }});
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_Mod
