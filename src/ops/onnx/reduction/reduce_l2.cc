// SPDX-License-Identifier: Apache-2.0
// ReduceL2 (opset 1 to 18). The root of the sum of squares over the axes. Integers are truncated.
#include <cmath>

#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceL2 {
namespace {

double real(std::span<const double> x) {
  double r = 0;
  for (double v : x)
    r += v * v;
  return std::sqrt(r);
}

const Reduction& reduction() {
  static const Reduction r = {.types = kReducible, .axes_input_since = 18, .real = real};
  return r;
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  return infer_reduction(c, reduction());
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return eval_reduction(c, infer, reduction());
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "ReduceL2",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_ReduceL2
