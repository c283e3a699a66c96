// SPDX-License-Identifier: Apache-2.0
// LpNormalization (opset 1, 22). y = x / (sum of |x|^p along the axis)^(1/p), p 1 or 2; 0 where the
// norm is 0.
#include <cmath>

#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_LpNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  const TypeInfo& x = c.input(0).type;
  const int64_t p = c.node.attr_int("p", 2);
  if (p != 1 && p != 2) return error("p {}; use 1 or 2", p);
  if (x.has_rank()) OCTET_TRY(normalize_axis(c.node.attr_int("axis", -1), x.rank()));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  auto x = OCTET_TRY(xt.to_doubles());
  const int64_t axis = OCTET_TRY(normalize_axis(c.node.attr_int("axis", -1), xt.rank()));
  const bool squares = c.node.attr_int("p", 2) == 2;
  Shape lines = xt.shape();
  const int64_t count = lines[static_cast<size_t>(axis)];
  lines[static_cast<size_t>(axis)] = 1;
  const int64_t step = strides_of(xt.shape())[static_cast<size_t>(axis)];
  for (int64_t first : strided_index(lines, strides_of(xt.shape()))) {
    double norm = 0;
    for (int64_t k = 0; k < count; ++k) {
      const double v = x[static_cast<size_t>(first + k * step)];
      norm += squares ? v * v : std::fabs(v);
    }
    if (squares) norm = std::sqrt(norm);
    for (int64_t k = 0; k < count; ++k)
      x[static_cast<size_t>(first + k * step)] /= norm == 0 ? 1 : norm;
  }
  return one(OCTET_TRY(rounded(xt.type(), xt.shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_LpNormalization
