// SPDX-License-Identifier: Apache-2.0
// HammingWindow (opset 17). y[n] = 25/46 - 21/46 cos(2 pi n / N).
#include "ops/shared/cosine_window.h"

namespace octet::onnx::op_HammingWindow {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_cosine_window(ctx, {.a0 = 25.0 / 46, .a1 = 21.0 / 46, .a2 = 0});
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

} // namespace octet::onnx::op_HammingWindow
