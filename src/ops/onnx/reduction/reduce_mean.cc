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

constexpr Reduction kReduction = {.types = kReducible, .axes_input_since = 18, .real = real};

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_reduction<kReduction>,
    .eval = eval_reduction<kReduction>,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.by_magnitude = true},
};

} // namespace octet::onnx::op_ReduceMean
