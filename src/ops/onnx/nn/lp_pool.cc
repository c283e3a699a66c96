// SPDX-License-Identifier: Apache-2.0
// LpPool (opset 2 to 22), one to three spatial axes. y = (sum of |x|^p over each window)^(1/p).
#include <cmath>

#include "core/format.h"
#include "ops/shared/pooling.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_LpPool {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  const int64_t p = c.node.attr_int("p", 2);
  if (p < 1) return error("p {}; use a positive number", p);
  return one(c.input(0).type.type, OCTET_TRY(pool_shape(c.node, c.input(0).type)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const Window3 g = OCTET_TRY(pool_window(c.node, c.inputs[0].shape(), shape));
  const auto p = static_cast<double>(c.node.attr_int("p", 2));
  std::vector<double> y(static_cast<size_t>(OCTET_TRY(element_count(shape))));
  pool_planes(g, shape[0] * shape[1], y.data(),
              [&](int64_t plane, int64_t d, int64_t h, int64_t w) {
                double sum = 0;
                for_each_tap(g, d, h, w, [&](int64_t offset) {
                  sum += std::pow(std::fabs(x[static_cast<size_t>(plane + offset)]), p);
                });
                return std::pow(sum, 1 / p);
              });
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 2,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_LpPool
