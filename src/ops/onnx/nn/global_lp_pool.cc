// SPDX-License-Identifier: Apache-2.0
// GlobalLpPool (opset 2 to 22). x: [N, C, D...], y: [N, C, 1...]: (sum of |x|^p over each
// plane)^(1/p).
#include <cmath>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_GlobalLpPool {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 2, 16));
  const int64_t p = c.node.attr_int("p", 2);
  if (p < 1) return error("p {}; use a positive number", p);
  TypeInfo out = c.input(0).type;
  if (out.has_rank())
    for (size_t i = 2; i < out.shape->size(); ++i)
      (*out.shape)[i] = Dim(1);
  return one(std::move(out));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const Shape shape = OCTET_TRY(infer_shape(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const Shape& in = c.inputs[0].shape();
  const int64_t plane = product(in, 2, in.size());
  const auto p = static_cast<double>(c.node.attr_int("p", 2));
  std::vector<double> y(static_cast<size_t>(in[0] * in[1]));
  size_t at = 0;
  for (double& v : y) {
    for (int64_t i = 0; i < plane; ++i)
      v += std::pow(std::fabs(x[at++]), p);
    v = std::pow(v, 1 / p);
  }
  return one(OCTET_TRY(rounded(c.inputs[0].type(), shape, y)));
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

} // namespace octet::onnx::op_GlobalLpPool
