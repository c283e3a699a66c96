// SPDX-License-Identifier: Apache-2.0
// ReduceL1 (opset 1 to 18). The sum of magnitudes over the axes.
#include <cmath>

#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceL1 {
namespace {

double real(std::span<const double> x) {
  double r = 0;
  for (double v : x)
    r += std::fabs(v);
  return r;
}

int64_t integer(std::span<const int64_t> x, DType) {
  uint64_t r = 0; // wraps
  for (int64_t v : x)
    r += v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  return static_cast<int64_t>(r);
}

constexpr Reduction kReduction = {
    .types = kReducible, .axes_input_since = 18, .real = real, .integer = integer};

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

} // namespace octet::onnx::op_ReduceL1
