// SPDX-License-Identifier: Apache-2.0
// HannWindow (opset 17). y[n] = 1/2 - 1/2 cos(2 pi n / N).
#include "ops/shared/cosine_window.h"

namespace octet::onnx::op_HannWindow {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_cosine_window(ctx, {.a0 = 0.5, .a1 = 0.5, .a2 = 0});
}

} // namespace

extern const OpFacets facets = {
    .since = 17,
    .infer = infer_cosine_window,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_HannWindow
