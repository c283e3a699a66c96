// SPDX-License-Identifier: Apache-2.0
// ReduceMean (opset 1 to 18). The mean over the axes; NaN over nothing. Integers are truncated.
#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceMean {
namespace {

double real(std::span<const double> x) {
  double r = 0;
  for (double v : x)
    r += v;
  return r / static_cast<double>(x.size());
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
    .name = "ReduceMean",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = Facts{.by_magnitude = true},
};

} // namespace octet::onnx::op_ReduceMean
