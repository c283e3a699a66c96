// SPDX-License-Identifier: Apache-2.0
// ReduceLogSum (opset 1 to 28). The logarithm of the sum over the axes.
#include <cmath>

#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceLogSum {
namespace {

double real(std::span<const double> x) {
  double r = 0;
  for (double v : x)
    r += v;
  return std::log(r);
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
    .name = "ReduceLogSum",
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

} // namespace octet::onnx::op_ReduceLogSum
