// SPDX-License-Identifier: Apache-2.0
// ReduceMin (opset 1 to 20). The smallest element over the axes, NaN where there is one; over
// nothing the type's highest value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceMin {
namespace {

constexpr TypeSet kTypes = kReducible | TypeSet{DType::kInt8, DType::kUint8, DType::kBool};

double real(std::span<const double> x) {
  double r = std::numeric_limits<double>::infinity();
  for (double v : x)
    if (v < r || std::isnan(v)) r = v;
  return r;
}

int64_t integer(std::span<const int64_t> x, DType type) {
  if (x.empty()) return highest_integer(type);
  return *std::min_element(x.begin(), x.end());
}

constexpr Reduction kReduction = {
    .types = kTypes, .axes_input_since = 18, .real = real, .integer = integer};

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_reduction<kReduction>,
    .eval = eval_reduction<kReduction>,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves, // over nothing an element comes out that x does not have
    .range = unbounded,
    .facts = Facts{.exact = true},
};

} // namespace octet::onnx::op_ReduceMin
