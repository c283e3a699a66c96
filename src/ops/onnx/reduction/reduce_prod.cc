// SPDX-License-Identifier: Apache-2.0
// ReduceProd (opset 1 to 18). The product over the axes; 1 over nothing.
#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceProd {
namespace {

double real(std::span<const double> x) {
  double r = 1;
  for (double v : x)
    r *= v;
  return r;
}

int64_t integer(std::span<const int64_t> x, DType) {
  uint64_t r = 1; // wraps
  for (int64_t v : x)
    r *= static_cast<uint64_t>(v);
  return static_cast<int64_t>(r);
}

constexpr Reduction kReduction = {.types = kReducible,
                                  .axes_input_since = 18,
                                  .real = real,
                                  .integer = integer,
                                  .on_dims = [](const Dim& a, const Dim& b) { return a * b; }};

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

} // namespace octet::onnx::op_ReduceProd
