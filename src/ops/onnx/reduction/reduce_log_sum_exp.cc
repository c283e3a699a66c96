// SPDX-License-Identifier: Apache-2.0
// ReduceLogSumExp (opset 1 to 28). log(sum of exp(x)) over the axes, the largest element taken out
// first.
#include <cmath>
#include <limits>

#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceLogSumExp {
namespace {

double real(std::span<const double> x) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double v : x)
    largest = std::fmax(largest, v);
  const double shift = std::isfinite(largest) ? largest : 0;
  double r = 0;
  for (double v : x)
    r += std::exp(v - shift);
  return std::log(r) + shift;
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

} // namespace octet::onnx::op_ReduceLogSumExp
