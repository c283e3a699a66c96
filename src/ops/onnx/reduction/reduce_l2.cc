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
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_ReduceL2
