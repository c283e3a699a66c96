// SPDX-License-Identifier: Apache-2.0
// LogSoftmax (opset 1 to 13). y = x - max - log(sum(exp(x - max))) along the axis; before opset 13
// over rows of the matrix that the axis cuts.
#include "ops/shared/axis_split.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_LogSoftmax {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer_along_axis, c));
  auto x = OCTET_TRY(c.inputs[0].to_doubles());
  for_each_line(axis_split(c), x, log_softmax_line);
  return one(OCTET_TRY(rounded(c.inputs[0].type(), c.inputs[0].shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_along_axis,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_LogSoftmax
